// SPDX-License-Identifier: Apache-2.0
//
// Threads that run the same function together and wait for one another inside of it. The thread
// that makes the team is its worker 0; all but team_wait() and team_part() are called by it only.
#pragma once

#include <stddef.h>

struct worker {
	struct team *team;
	size_t index, count; // of how many
};

// Of n things a worker does those from begin to before end.
struct part {
	size_t begin, end;
};

typedef void team_fn(const struct worker *worker, void *context);

struct team *team_create(size_t n_workers);
void team_destroy(struct team *team);

// All workers run fn(); returns when all have done so.
void team_run(struct team *team, team_fn *fn, void *context);

// Returns when all workers have called it. The time is recorded as BarrierWait.
void team_wait(const struct worker *worker);

// The worker's part of n things, in whole units but for the last.
struct part team_part(const struct worker *worker, size_t n, size_t unit);
