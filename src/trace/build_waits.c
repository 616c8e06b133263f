/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wait was really for. A program waits for all that a queue was given (clFinish, a fence),
 * and who records it knows the newest command only; where commands overlap, an older one may have
 * ended last. So of a wait that went on behind the end of its command, the one that ended last
 * takes its place. Nobody waits for what goes on behind the wait: where not even the queue is told
 * (streams of HIP), it was for the command of any that ended when the thread woke up, or that is
 * not known. Called when all links are there.
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

/* Are these lanes of one process's device, and of one queue? */
static int is_same_device(const struct run_lane *a, const struct run_lane *b)
{
	return a->kind == BRICK_LANE_QUEUE && a->process == b->process &&
	       is_same(a->backend, b->backend);
}

static int is_same_queue(const struct run_lane *a, const struct run_lane *b)
{
	return is_same_device(a, b) && a->tid == b->tid;
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

/* What it was for; NULL: that is not known. */
static const struct run_command *aim(const struct run *run, const struct run_wait *wait)
{
	const struct run_sample *sample = &run->lanes[wait->lane].samples[wait->sample];
	const struct run_command *told = &run->commands[wait->command], *last = told;
	uint64_t last_ns = end_ns(run, told);
	int (*is_among)(const struct run_lane *, const struct run_lane *) = is_same_queue;

	if (last_ns > sample->end_ns + AWAKE_NS) {
		is_among = is_same_device;
		last = NULL;
		last_ns = sample->end_ns > sample->begin_ns + AWAKE_NS ? sample->end_ns - AWAKE_NS
								       : sample->begin_ns;
	} else if (sample->end_ns <= last_ns + AWAKE_NS) {
		return told;
	}
	for (uint32_t i = 0; i < run->lane_count; i++) {
		if (!is_among(&run->lanes[i], &run->lanes[told->lane]))
			continue;
		const struct run_command *c =
			last_of(run, i, told->number, last_ns, sample->end_ns);
		if (c) {
			last = c;
			last_ns = end_ns(run, c);
		}
	}
	return last;
}

void build_waits_finish(struct run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->wait_count; i++) {
		const struct run_command *command = aim(run, &run->waits[i]);
		if (!command)
			continue;
		run->waits[kept] = run->waits[i];
		run->waits[kept++].command = (uint32_t)(command - run->commands);
	}
	run->wait_count = kept;
}
