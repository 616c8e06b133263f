/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose track an event of a lane is on: each owner's is a track of its own, as in Perfetto's trace.
 * Queues, and lanes whose pid and tid another has, get numbers that no thread has.
 */
#include "trace/chrome_state.h"

enum { FIRST_FREE_TID = 1 << 23 }; /* above all thread ids of Linux */

static int pid_of(const struct run *run, uint32_t lane)
{
	return (int)run->processes[run->lanes[lane].process].pid;
}

static struct owner *first_of(const struct chrome *c, uint32_t lane)
{
	return &c->owners.all[c->owners.lanes[lane]];
}

/* Viewers tell tracks apart by pid and tid; queues and lanes of a reused pid may clash. */
static int tid_taken(const struct chrome *c, uint32_t lane)
{
	for (uint32_t i = 0; i < lane; i++)
		if (pid_of(c->run, i) == pid_of(c->run, lane) &&
			first_of(c, i)->tid == first_of(c, lane)->tid)
			return 1;
	return 0;
}

int chrome_owners(struct chrome *c)
{
	int error = owners_init(&c->owners, c->run);

	for (uint32_t i = 0; !error && i < c->run->lane_count; i++)
		if (c->run->lanes[i].kind == BRICK_LANE_QUEUE || tid_taken(c, i))
			first_of(c, i)->tid = FIRST_FREE_TID + (uint64_t)i;
	return error;
}
