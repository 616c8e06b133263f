/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team of threads that begin together, to measure the ceilings of n threads. Each thread is bound
 * to a CPU of its own, if the system allows it; between runs it sleeps. One caller at a time.
 */
#pragma once

#include <stdint.h>

struct team;

/* member: 0 (the caller) to count - 1 */
typedef void (*team_fn)(void *context, unsigned member);

/*
 * members: at least 1, with the caller, which is bound to cpus[0] until team_destroy(). cpus:
 * [members]; NULL: no thread is bound. 0, or -errno: a thread could not be started.
 */
int team_create(struct team **out, unsigned members, const int *cpus);

/* Calls `run` on members 0 to count - 1. Returns the ns from the first begin to the last end. */
uint64_t team_run(struct team *team, unsigned count, team_fn run, void *context);

/* Returns the ns of `rounds` barriers, at which `count` members meet and do nothing else. */
uint64_t team_barrier_ns(struct team *team, unsigned count, unsigned rounds);

/* NULL is legal. */
void team_destroy(struct team *team);
