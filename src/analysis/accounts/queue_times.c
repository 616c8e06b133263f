/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the samples of each queue's lanes. Spans of commands are united, so that overlap
 * counts once; then their overlap with the united spans of steps says how long the queue was idle.
 */
#include "analysis/accounts/queue_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/launches.h"
#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "base/array.h"
#include "base/order.h"

struct span {
	uint64_t begin_ns, end_ns;
};

struct spans {
	struct span *list;
	size_t count, capacity;
	bool failed;
};

static void queue_times_add_span(struct spans *s, uint64_t begin_ns, uint64_t end_ns)
{
	struct span *list = array_grow(s->list, &s->capacity, s->count + 1, sizeof(*list));

	if (!list) {
		s->failed = true;
		return;
	}
	s->list = list;
	s->list[s->count++] = (struct span){begin_ns, end_ns};
}

COMPARATOR(queue_times_by_begin, struct span, ORDER(x->begin_ns, y->begin_ns))

/* Sorts spans by begin and joins those that touch; returns the sum of their lengths in ns. */
static uint64_t queue_times_unite(struct spans *s)
{
	uint64_t length_ns = 0;
	size_t kept = 0;

	if (s->count > 1)
		qsort(s->list, s->count, sizeof(*s->list), queue_times_by_begin);
	for (size_t i = 0; i < s->count; i++) {
		struct span span = s->list[i];
		if (kept && span.begin_ns <= s->list[kept - 1].end_ns) {
			if (span.end_ns > s->list[kept - 1].end_ns)
				s->list[kept - 1].end_ns = span.end_ns;
			continue;
		}
		s->list[kept++] = span;
	}
	s->count = kept;
	for (size_t i = 0; i < kept; i++)
		length_ns += s->list[i].end_ns - s->list[i].begin_ns;
	return length_ns;
}

/* ns that lie in both. Each must come from queue_times_unite(). */
static uint64_t queue_times_overlap(const struct spans *a, const struct spans *b)
{
	uint64_t ns = 0;

	for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
		const struct span *x = &a->list[i], *y = &b->list[k];
		uint64_t begin = x->begin_ns > y->begin_ns ? x->begin_ns : y->begin_ns;
		uint64_t end = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;
		ns += end > begin ? end - begin : 0;
		if (x->end_ns < y->end_ns)
			i++;
		else
			k++;
	}
	return ns;
}

static bool queue_times_is_queue(const struct run *run, uint32_t lane)
{
	return run->lanes[lane].kind == BRICK_LANE_QUEUE;
}

bool queue_has_commands(const struct run *run, int source)
{
	for (size_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		if (queue_times_is_queue(run, (uint32_t)i) && lane->sample_count &&
			(source < 0 || lane->samples[0].source == source))
			return true;
	}
	return false;
}

/* Gives each lane of a queue the number of that queue. */
static int find_queues(struct queue_times *t, const struct run *run)
{
	t->of_lane = malloc((run->lane_count + 1) * sizeof(*t->of_lane));
	t->queues = calloc(run->lane_count + 1, sizeof(*t->queues));
	if (!t->of_lane || !t->queues)
		return -ENOMEM;
	for (uint32_t lane = 0; lane < run->lane_count; lane++) {
		const struct run_lane *l = &run->lanes[lane];
		t->of_lane[lane] = RUN_NONE;
		if (!queue_times_is_queue(run, lane))
			continue;
		size_t i = 0;
		while (i < t->count && (run->lanes[t->queues[i].lane].process != l->process ||
					       run->lanes[t->queues[i].lane].tid != l->tid))
			i++;
		if (i == t->count)
			t->queues[t->count++].lane = lane;
		t->queues[i].lanes++;
		t->of_lane[lane] = (uint32_t)i;
	}
	return 0;
}

/* What is measured of a run. */
struct scope {
	const struct run *run;
	const struct step_index *index;
	int phase; /* an enum step_phase; below 0: all */
};

/* step: RUN_NONE is of no phase. */
static bool is_of_phase(const struct scope *scope, uint32_t step)
{
	return scope->phase < 0 ||
	       (step != RUN_NONE && (int)scope->run->steps[step].phase == scope->phase);
}

static bool is_measured(const struct scope *scope, uint32_t lane, uint32_t sample)
{
	uint32_t site = scope->run->lanes[lane].samples[sample].site;
	return !scope->run->sites[site].left_out &&
	       (scope->phase < 0 ||
		       is_of_phase(scope, launches_step(scope->run, scope->index, lane, sample)));
}

/* Adds spans of the queue's measured commands to `busy`, and of all its commands to `all`. */
static void take_samples(struct queue_times *t, const struct scope *scope, size_t queue,
	struct spans *busy, struct spans *all)
{
	const struct run *run = scope->run;
	struct queue_time *q = &t->queues[queue];

	for (uint32_t lane = q->lane; lane < run->lane_count; lane++) {
		const struct run_lane *l = &run->lanes[lane];
		if (t->of_lane[lane] != queue)
			continue;
		for (uint32_t i = 0; i < l->sample_count; i++) {
			const struct run_sample *s = &l->samples[i];
			if (!s->depth)
				queue_times_add_span(all, s->begin_ns, s->end_ns);
			run_lane_passed(l, i);
			if (!is_measured(scope, lane, i))
				continue;
			q->sources |= 1u << (s->source & 31);
			q->commands++;
			if (!s->depth)
				queue_times_add_span(busy, s->begin_ns, s->end_ns);
		}
	}
}

static void take_steps(struct spans *steps, const struct scope *scope, uint32_t process)
{
	const struct run *run = scope->run;
	const struct step_index *index = scope->index;

	for (uint32_t i = index->process_first[process]; i < index->process_first[process + 1];
		i++) {
		uint32_t step = index->by_process[i];
		uint64_t begin_ns = run->steps[step].begin_ns;
		uint64_t end_ns = index->tails[step].end_ns;
		if (end_ns > begin_ns && is_of_phase(scope, step))
			queue_times_add_span(steps, begin_ns, end_ns);
	}
}

/* United spans of one process's steps, kept for all its queues that follow each other. */
struct step_spans {
	uint32_t process; /* RUN_NONE: not chosen yet */
	struct spans spans;
	uint64_t length_ns;
};

static void choose_process(struct step_spans *steps, const struct scope *scope, uint32_t process)
{
	if (steps->process == process)
		return;
	steps->process = process;
	steps->spans.count = 0;
	take_steps(&steps->spans, scope, process);
	steps->length_ns = queue_times_unite(&steps->spans);
}

/* Takes statistics of a queue's lanes, which have no points in time: idle time is unknown. */
static void queue_times_take_statistics(struct queue_times *t, const struct run *run, size_t queue)
{
	struct queue_time *q = &t->queues[queue];

	q->steps_ns = q->wall_ns = q->idle_ns = ANALYSIS_UNKNOWN;
	for (uint32_t lane = q->lane; lane < run->lane_count; lane++)
		for (size_t b = 0;
			t->of_lane[lane] == queue && run->lanes[lane].stats && b < run->brick_count;
			b++) {
			q->commands += run->lanes[lane].stats[b].count;
			q->busy_ns += run->lanes[lane].stats[b].self_ns;
		}
}

static int measure_busy(struct queue_times *t, const struct scope *scope,
	const struct step_spans *steps, size_t queue)
{
	struct queue_time *q = &t->queues[queue];
	struct spans busy = {0}, all = {0};

	take_samples(t, scope, queue, &busy, &all);
	q->busy_ns = queue_times_unite(&busy);
	queue_times_unite(&all);
	q->steps_ns = ANALYSIS_UNKNOWN;
	if (steps->spans.count) {
		q->steps_ns = steps->length_ns;
		q->idle_ns = q->steps_ns - queue_times_overlap(&all, &steps->spans);
	} else if (busy.count) {
		q->idle_ns = busy.list[busy.count - 1].end_ns - busy.list[0].begin_ns - q->busy_ns;
	}
	q->wall_ns = q->busy_ns + q->idle_ns;
	free(busy.list);
	free(all.list);
	return busy.failed || all.failed || steps->spans.failed ? -ENOMEM : 0;
}

static void finish_delay(struct queue_delay *delay, uint64_t *values, size_t count)
{
	percentile_sort(values, count);
	delay->count = count;
	delay->p50_ns = percentile_sorted(values, count, 50);
	delay->p95_ns = percentile_sorted(values, count, 95);
}

/* Room for the delays of one queue, enough for all commands of the run. */
struct delays {
	uint64_t *launch, *submit;
	size_t launches, submits;
};

static void measure_delays(
	struct queue_times *t, const struct scope *scope, size_t queue, struct delays *d)
{
	const struct run *run = scope->run;

	d->launches = d->submits = 0;
	for (uint32_t lane = t->queues[queue].lane; lane < run->lane_count; lane++) {
		if (t->of_lane[lane] != queue)
			continue;
		/* A negative delay is an error of the clocks between host and device: it is 0. */
		for (size_t i = run_command_from(run, lane, 0);
			i < run->command_count && run->commands[i].lane == lane; i++) {
			const struct run_command *c = &run->commands[i];
			uint64_t begin_ns = run->lanes[lane].samples[c->sample].begin_ns;
			run_lane_passed(&run->lanes[lane], c->sample);
			if (!is_measured(scope, lane, c->sample))
				continue;
			if (c->launch_ns)
				d->launch[d->launches++] =
					begin_ns > c->launch_ns ? begin_ns - c->launch_ns : 0;
			if (c->submitted_ns)
				d->submit[d->submits++] =
					begin_ns > c->submitted_ns ? begin_ns - c->submitted_ns : 0;
		}
	}
	finish_delay(&t->queues[queue].launch, d->launch, d->launches);
	finish_delay(&t->queues[queue].submit, d->submit, d->submits);
}

int queue_times_init(
	struct queue_times *t, const struct run *run, const struct step_index *index, int phase)
{
	const struct scope scope = {run, index, phase};
	struct step_spans steps = {.process = RUN_NONE};
	struct delays delays = {0};

	memset(t, 0, sizeof(*t));
	int rc = find_queues(t, run);
	if (rc == 0 && t->count) {
		delays.launch = malloc((run->command_count + 1) * sizeof(uint64_t));
		delays.submit = malloc((run->command_count + 1) * sizeof(uint64_t));
		rc = delays.launch && delays.submit ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < t->count && rc == 0; i++) {
		choose_process(&steps, &scope, run->lanes[t->queues[i].lane].process);
		if (run->has_statistics_only)
			queue_times_take_statistics(t, run, i);
		else
			rc = measure_busy(t, &scope, &steps, i);
		measure_delays(t, &scope, i, &delays);
	}
	free(steps.spans.list);
	free(delays.launch);
	free(delays.submit);
	if (rc < 0)
		queue_times_fini(t);
	return rc;
}

void queue_times_fini(struct queue_times *t)
{
	free(t->queues);
	free(t->of_lane);
	memset(t, 0, sizeof(*t));
}
