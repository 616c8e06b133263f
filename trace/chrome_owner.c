/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose track an event of a lane is on. A lane goes on with another thread when its owner has
 * ended: each of them is a track of its own, as in Perfetto's trace. Queues, and lanes whose pid
 * and tid another has, get numbers that no thread has.
 */
#include <errno.h>
#include <stdlib.h>
#include "trace/chrome_state.h"

enum { FIRST_FREE_TID = 1 << 23 }; /* above all thread ids of Linux */

static int pid_of(const struct run *run, uint32_t lane)
{
	return (int)run->processes[run->lanes[lane].process].pid;
}

/* Viewers tell tracks apart by pid and tid; queues and lanes of a reused pid may clash. */
static int tid_taken(const struct chrome *c, uint32_t lane)
{
	for (uint32_t i = 0; i < lane; i++)
		if (pid_of(c->run, i) == pid_of(c->run, lane) &&
			c->owners[c->lanes[i]].tid == c->run->lanes[lane].tid)
			return 1;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct chrome_owner *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int is_handover(const struct run_point *p)
{
	return p->kind == RUN_POINT_THREAD;
}

/* Those of a lane stand together, from c->lanes[lane] on; each of them has its first owner. */
static void count_owners(struct chrome *c)
{
	const struct run *run = c->run;

	for (uint32_t i = 0; i < run->lane_count; i++)
		c->lanes[i + 1] = 1;
	for (size_t i = 0; i < run->point_count; i++)
		c->lanes[run->points[i].lane + 1] += is_handover(&run->points[i]);
	for (uint32_t i = 0; i < run->lane_count; i++)
		c->lanes[i + 1] += c->lanes[i];
}

static void fill_owners(struct chrome *c, size_t *next)
{
	const struct run *run = c->run;

	for (uint32_t i = 0; i < run->lane_count; i++) {
		int is_apart = run->lanes[i].kind == BRICK_LANE_QUEUE || tid_taken(c, i);
		next[i] = c->lanes[i];
		c->owners[next[i]++].tid =
			is_apart ? FIRST_FREE_TID + (uint64_t)i : run->lanes[i].tid;
	}
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		if (is_handover(p))
			c->owners[next[p->lane]++] =
				(struct chrome_owner){p->ns, (uint64_t)p->value};
	}
	for (uint32_t i = 0; i < run->lane_count; i++)
		qsort(c->owners + c->lanes[i], next[i] - c->lanes[i], sizeof *c->owners, by_time);
}

int chrome_owners(struct chrome *c)
{
	const struct run *run = c->run;
	size_t *next = calloc(run->lane_count + (size_t)1, sizeof *next);

	c->lanes = calloc(run->lane_count + (size_t)1, sizeof *c->lanes);
	if (c->lanes)
		count_owners(c);
	c->owners = c->lanes ? calloc(c->lanes[run->lane_count] + 1, sizeof *c->owners) : NULL;
	if (next && c->owners)
		fill_owners(c, next);
	int error = next && c->owners ? 0 : -ENOMEM;
	free(next);
	return error;
}

uint64_t chrome_owner(const struct chrome *c, uint32_t lane, uint64_t ns)
{
	size_t low = c->lanes[lane], high = c->lanes[lane + 1];

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (c->owners[middle].ns <= ns)
			low = middle;
		else
			high = middle;
	}
	return c->owners[low].tid;
}
