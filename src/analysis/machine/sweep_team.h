/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that begin together: what a ceiling of n threads is measured with. Each is bound to a CPU
 * of its own where the system allows it; between runs they sleep. One caller at a time.
 */
#pragma once

#include <stdint.h>

struct team;

/* member: 0 (the caller) to count - 1 */
typedef void (*team_fn)(void *context, unsigned member);

/*
 * members: at least 1, the caller included, which is bound to cpus[0] until team_destroy(). cpus
 * [members] may be NULL: bound to none. -errno: a thread could not be had.
 */
int team_create(struct team **out, unsigned members, const int *cpus);

/* Run on members 0 to count - 1. Returns the ns from the first one's begin to the last one's end.
 */
uint64_t team_run(struct team *team, unsigned count, team_fn run, void *context);

/* ns that `rounds` barriers of count members took, which do nothing but meet. */
uint64_t team_barrier_ns(struct team *team, unsigned count, unsigned rounds);

/* NULL is legal. */
void team_destroy(struct team *team);
