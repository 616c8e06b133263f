/* SPDX-License-Identifier: Apache-2.0 */
/* Who is fed by a walk, and with which lanes. Called by whatever adds up samples. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/walk.h"
#include "base/scope.h"

void walk_init(struct walk *walk, const struct run *run, const struct step_index *index)
{
	walk->run = run;
	walk->index = index;
	walk->count = 0;
	walk->executions = NULL;
	walk->work = NULL;
	walk->times = NULL;
}

void walk_join(struct walk *walk, const struct walk_ops *ops, void *context)
{
	assert(walk->count < WALK_JOINED_MAX);
	walk->joined[walk->count++] = (struct walk_joined){ops, context};
}

static int wants(const struct walk *walk, const struct walk_joined *joined, uint32_t lane)
{
	if (joined->ops->begin_lane)
		return joined->ops->begin_lane(joined->context, lane);
	return walk->run->lanes[lane].kind == BRICK_LANE_THREAD;
}

static int feed_wanted(const struct walk *walk, struct walk_lane *w, uint32_t lane, bool *wanted)
{
	int rc = 0;

	for (size_t k = 0; k < walk->count && rc >= 0; k++) {
		rc = wants(walk, &walk->joined[k], lane);
		wanted[k] = rc > 0;
		if (wanted[k])
			walk_lane_join(w, walk->joined[k].ops, walk->joined[k].context);
	}
	if (rc >= 0)
		walk_lane_run(w);
	return rc;
}

static int walk_one(const struct walk *walk, uint32_t lane)
{
	struct walk_lane *w = walk_lane_create(walk->run, walk->index, lane);
	bool wanted[WALK_JOINED_MAX];
	int rc = w ? feed_wanted(walk, w, lane, wanted) : -ENOMEM;

	for (size_t k = 0; k < walk->count && rc >= 0; k++)
		if (wanted[k] && walk->joined[k].ops->end_lane)
			rc = walk->joined[k].ops->end_lane(walk->joined[k].context, lane);
	walk_lane_destroy(w);
	return rc < 0 ? rc : 0;
}

static void begin_process(const struct walk *walk, uint32_t process)
{
	for (size_t k = 0; k < walk->count; k++)
		if (walk->joined[k].ops->begin_process)
			walk->joined[k].ops->begin_process(walk->joined[k].context, process);
}

static int end_process(const struct walk *walk, uint32_t process)
{
	int rc = 0;
	for (size_t k = 0; k < walk->count; k++)
		if (walk->joined[k].ops->end_process) {
			int ended =
				walk->joined[k].ops->end_process(walk->joined[k].context, process);
			rc = rc < 0 ? rc : ended;
		}
	return rc;
}

/* Lanes by process, in their own order: [lane_count]; the caller frees. */
static uint32_t *order_lanes(const struct run *run)
{
	uint32_t *order = malloc((run->lane_count + 1) * sizeof(*order));
	SCOPED uint32_t *next = calloc(run->process_count + 1, sizeof(*next));

	if (order && next) {
		for (size_t i = 0; i < run->lane_count; i++)
			next[run->lanes[i].process + 1]++;
		for (size_t p = 1; p < run->process_count; p++)
			next[p] += next[p - 1];
		for (uint32_t i = 0; i < run->lane_count; i++)
			order[next[run->lanes[i].process]++] = i;
	} else {
		free(order);
		order = NULL;
	}
	return order;
}

int walk_run(const struct walk *walk)
{
	const struct run *run = walk->run;
	SCOPED uint32_t *order = order_lanes(run);
	int rc = order ? 0 : -ENOMEM;
	size_t i = 0;

	for (uint32_t process = 0; process < run->process_count && rc >= 0; process++) {
		begin_process(walk, process);
		for (; rc >= 0 && i < run->lane_count && run->lanes[order[i]].process == process;
			i++)
			rc = walk_one(walk, order[i]);
		int ended = end_process(walk, process);
		rc = rc < 0 ? rc : ended;
	}
	for (size_t k = 0; k < walk->count && rc >= 0; k++)
		if (walk->joined[k].ops->finish)
			rc = walk->joined[k].ops->finish(walk->joined[k].context);
	return rc < 0 ? rc : 0;
}
