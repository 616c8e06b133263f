/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wait was really for. A program waits for all that a queue was given (clFinish, a fence),
 * and who records it knows the newest command only; where commands overlap, an older one may have
 * ended last. So of a wait that went on behind the end of its command, the one that ended last
 * takes its place. Called when all links are there.
 */
#include "trace/build.h"

#include <string.h>

enum { AWAKE_NS = 50000 }; /* a thread has woken up by then */

static uint64_t end_ns(const struct run *run, const struct run_command *c)
{
	return run->lanes[c->lane].samples[c->sample].end_ns;
}

static int is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Are these lanes of one queue? */
static int is_same_queue(const struct run_lane *a, const struct run_lane *b)
{
	return a->kind == BRICK_LANE_QUEUE && a->process == b->process && a->tid == b->tid &&
	       is_same(a->backend, b->backend);
}

/* Of a lane's commands up to that number, the last that ended between the two; or NULL. */
static const struct run_command *last_of(
	const struct run *run, uint32_t lane, uint64_t number, uint64_t after_ns, uint64_t by_ns)
{
	const struct run_lane *l = &run->lanes[lane];

	for (size_t i = run_sample_from(l, by_ns); i-- && l->samples[i].begin_ns < by_ns;) {
		if (l->samples[i].depth || l->samples[i].end_ns > by_ns)
			continue;
		if (l->samples[i].end_ns <= after_ns)
			return NULL;
		size_t place = run_command_from(run, lane, (uint32_t)i);
		const struct run_command *c = &run->commands[place];
		if (place < run->command_count && c->lane == lane && c->sample == i &&
			c->number <= number)
			return c;
	}
	return NULL;
}

static void aim(const struct run *run, struct run_wait *wait)
{
	const struct run_sample *sample = &run->lanes[wait->lane].samples[wait->sample];
	const struct run_command *told = &run->commands[wait->command], *last = told;
	uint64_t last_ns = end_ns(run, told);

	if (sample->end_ns <= last_ns + AWAKE_NS)
		return;
	for (uint32_t i = 0; i < run->lane_count; i++) {
		if (!is_same_queue(&run->lanes[i], &run->lanes[told->lane]))
			continue;
		const struct run_command *c =
			last_of(run, i, told->number, last_ns, sample->end_ns);
		if (c) {
			last = c;
			last_ns = end_ns(run, c);
		}
	}
	wait->command = (uint32_t)(last - run->commands);
}

void build_waits_finish(struct run *run)
{
	for (size_t i = 0; i < run->wait_count; i++)
		aim(run, &run->waits[i]);
}
