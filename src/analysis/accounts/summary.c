/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes what a walk has added up, and the rows that are made of it. Called by whatever shows
 * summaries.
 */
#include "analysis/accounts/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/unknown.h"
#include "base/members.h"

static const char *const by_names[SUMMARY_BY_COUNT][2] = {
	[SUMMARY_BY_BRICK] = {"brick", "bricks"},
	[SUMMARY_BY_CATEGORY] = {"category", "categories"},
	[SUMMARY_BY_LAYER] = {"layer", "layers"},
	[SUMMARY_BY_PHASE] = {"phase", "phases"},
	[SUMMARY_BY_STEP] = {"step", "each_step"}, /* "steps" are their times by phase */
	[SUMMARY_BY_THREAD] = {"thread", "threads"},
	[SUMMARY_BY_KERNEL] = {"kernel", "kernels"},
	[SUMMARY_BY_QUEUE] = {"queue", "queues"},
};

const char *summary_by_name(enum summary_by by)
{
	return by_names[by][0];
}

const char *summary_by_plural(enum summary_by by)
{
	return by_names[by][1];
}

static uint64_t exact_executions(const struct summary_accumulator *t)
{
	for (size_t i = 0; i < t->run->lane_count; i++)
		if (t->run->lanes[i].stats)
			return t->executions;
	return ANALYSIS_UNKNOWN;
}

static void take_totals(struct summary *s, struct summary_accumulator *t)
{
	members_copy(s, t, knows_off, wall_ns, unattributed_ns);
	s->unattributed_unevaluated_ns = t->unattributed_unevaluated_ns < t->unattributed_ns
						 ? t->unattributed_unevaluated_ns
						 : t->unattributed_ns;
	s->left_out_ns = t->left_out_ns;
	s->coverage = t->wall_ns ? 1 - (double)t->unattributed_ns / (double)t->wall_ns : -1;
	s->samples = t->samples;
	s->executions = exact_executions(t);
	members_copy(s, t, mismatched, unknown_operations, device_ns, device_covered_ns,
		device_wait_ns, wait_causes);
	t->wait_causes = (struct wait_causes){0};
	s->pairs = t->pairs;
	s->hooked = t->hooked;
	t->pairs = t->hooked = NULL;
	s->steps = t->steps;
	t->steps.steps = NULL;
}

static int take_rows(struct summary *s, const struct summary_accumulator *t)
{
	struct summary_rows categories = {0}, rows = {0};
	int rc = summary_rows_of_categories(&categories, t);
	if (rc == 0) {
		summary_rows_sort(&categories);
		if (s->by == SUMMARY_BY_CATEGORY)
			rc = summary_rows_copy(&rows, &categories);
		else if (s->by == SUMMARY_BY_BRICK)
			rc = summary_rows_of_bricks(&rows, t);
		else
			rc = summary_rows_of_groups(&rows, t);
	}
	if (rc == 0 && s->by != SUMMARY_BY_LAYER && s->by != SUMMARY_BY_PHASE &&
		s->by != SUMMARY_BY_STEP)
		summary_rows_sort(&rows);
	s->categories = categories.list;
	s->category_count = categories.count;
	s->rows = rows.list;
	s->row_count = rows.count;
	return rc;
}

static int finish(void *context)
{
	struct summary *s = context;
	take_totals(s, s->accumulator);
	int rc = take_rows(s, s->accumulator);
	s->queues = s->accumulator->queues;
	s->accumulator->queues = (struct queue_times){0};
	return rc;
}

/* The accumulator takes the samples. */
static int no_lane(void *context, uint32_t lane)
{
	return 0;
}

static const struct walk_ops ops = {.begin_lane = no_lane, .finish = finish};

int summary_create_in(struct summary **out, struct walk *walk, enum summary_by by, int only)
{
	struct summary *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->run = walk->run;
	s->by = by;
	s->only = only;
	s->accumulator = calloc(1, sizeof(*s->accumulator));
	if (!s->accumulator || summary_accumulator_init(s->accumulator, walk, by, only) < 0) {
		free(s->accumulator);
		free(s);
		return -ENOMEM;
	}
	walk_join(walk, &ops, s);
	*out = s;
	return 0;
}

void summary_take(struct summary *to, const struct summary *part)
{
	summary_accumulator_take(to->accumulator, part->accumulator);
}

int summary_create(struct summary **out, const struct run *run, enum summary_by by, int only)
{
	struct step_index index;
	struct summary *s = NULL;
	struct walk walk;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	walk_init(&walk, run, &index);
	rc = summary_create_in(&s, &walk, by, only);
	if (rc == 0)
		rc = walk_run(&walk);
	step_index_fini(&index);
	if (rc < 0)
		summary_destroy(s);
	else
		*out = s;
	return rc;
}

void summary_destroy(struct summary *s)
{
	if (!s)
		return;
	if (s->accumulator)
		summary_accumulator_fini(s->accumulator);
	free(s->accumulator);
	summary_rows_fini(&(struct summary_rows){s->rows, s->row_count});
	summary_rows_fini(&(struct summary_rows){s->categories, s->category_count});
	step_times_fini(&s->steps);
	queue_times_fini(&s->queues);
	wait_causes_fini(&s->wait_causes);
	free(s->pairs);
	free(s->hooked);
	free(s);
}

double summary_device_coverage(const struct summary *s)
{
	return s->device_ns ? (double)s->device_covered_ns / (double)s->device_ns : -1;
}

double summary_phase_coverage(const struct summary *s, enum step_phase phase)
{
	const struct step_phase_times *times = &s->steps.phases[phase];
	if (!times->total_ns)
		return -1;
	return 1 - (double)times->unattributed_ns / (double)times->total_ns;
}
