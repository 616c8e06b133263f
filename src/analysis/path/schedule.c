/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a schedule: which samples belong to the window, then what comes before what. A window is a
 * step with all that its process did meanwhile, or everything that a process did.
 */
#include "analysis/path/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/schedule_state.h"
#include "base/order.h"
#include "brick/error.h"

struct schedule_activity *schedule_next(struct schedule_maker *m)
{
	struct schedule *s = m->schedule;

	if (s->activities.count >= UINT32_MAX / 4)
		m->failed = true;
	if (m->failed || schedule_failed(m, array_reserve(&s->activities, 1)))
		return NULL;
	return &s->activities.items[s->activities.count++];
}

uint32_t schedule_add(struct schedule_maker *m, const struct schedule_activity *activity)
{
	struct schedule_activity *next = schedule_next(m);

	if (!next)
		return RUN_NONE;
	*next = *activity;
	return (uint32_t)m->schedule->activities.count - 1;
}

static uint32_t add_point(struct schedule_maker *m, uint64_t ns)
{
	return schedule_add(m, &(struct schedule_activity){.begin_ns = ns,
				       .end_ns = ns,
				       .owner = (uint32_t)m->run->brick_count + SCHEDULE_OWNER_REST,
				       .lane = RUN_NONE,
				       .sample = RUN_NONE,
				       .cause = RUN_NONE,
				       .kind = SCHEDULE_POINT});
}

/* Samples that begin within the window, and one before that reaches into it. */
static void take_other_lane(struct schedule_maker *m, uint32_t lane)
{
	const struct run_lane *l = &m->run->lanes[lane];
	size_t first = run_sample_from(l, m->begin_ns), end = run_sample_from(l, m->end_ns);

	if (first > 0) {
		const struct run_sample *before = &l->samples[first - 1];
		if (before->end_ns + before->wait_ns > m->begin_ns)
			first--;
	}
	schedule_take_lane(m, lane, first, end);
}

/* Whether a lane runs a step of its own in the window: it then works for that one. */
static bool has_own_step(const struct schedule_maker *m, uint32_t lane)
{
	uint32_t next = step_index_ended(m->index, m->run, lane, m->begin_ns);

	return next < m->index->lane_first[lane + 1] &&
	       m->run->steps[m->index->by_lane[next]].begin_ns < m->end_ns;
}

static void take_step(struct schedule_maker *m, const struct run_step *step)
{
	const struct run_lane *driver = &m->run->lanes[step->lane];
	size_t end = step->sample + 1;

	while (end < driver->sample_count &&
		(driver->samples[end].depth > driver->samples[step->sample].depth ||
			driver->samples[end].begin_ns < m->end_ns))
		end++;
	m->driver = step->lane;
	schedule_take_lane(m, step->lane, step->sample, end);
	for (uint32_t lane = 0; lane < m->run->lane_count; lane++)
		if (lane != step->lane && m->run->lanes[lane].process == driver->process &&
			!has_own_step(m, lane))
			take_other_lane(m, lane);
}

COMPARATOR(compare_forks, struct schedule_fork, ORDER(x->ns, y->ns) ?: ORDER(x->lane, y->lane))

/* The last fork within a time; NULL if there was none. The lane has none of its own. */
static const struct schedule_fork *fork_within(
	const struct schedule_maker *m, const struct schedule_activity *gap)
{
	const struct schedule_fork *forks = m->schedule->forks.items;
	size_t low = BISECT(i, 0, m->schedule->forks.count, forks[i].ns <= gap->end_ns);

	return low && forks[low - 1].ns >= gap->begin_ns ? &forks[low - 1] : NULL;
}

/* Time in which a thread did nothing: it may have ended because others' work began. */
static void link_gap(struct schedule_maker *m, uint32_t source, uint32_t number)
{
	struct schedule_activity *gap = &m->schedule->activities.items[number];
	const struct schedule_fork *fork = fork_within(m, gap);

	if (!fork) {
		m->schedule->counts.idle++;
		m->schedule->counts.idle_ns += gap->duration_ns;
		return;
	}
	gap->kind = SCHEDULE_START;
	gap->cause = (uint32_t)(fork - m->schedule->forks.items);
	gap->owner = (uint32_t)m->run->brick_count + SCHEDULE_OWNER_START;
	gap->duration_ns = gap->end_ns - fork->ns;
	m->schedule->counts.starts++;
	schedule_connect(m, fork->before == RUN_NONE ? source : fork->before, number);
}

static void link_lane(
	struct schedule_maker *m, uint32_t source, const struct schedule_span *lane, bool drives)
{
	uint32_t before = source;
	bool is_thread = m->run->lanes[lane->lane].kind == BRICK_LANE_THREAD;

	for (uint32_t i = lane->first; i < lane->first + lane->count; i++) {
		const struct schedule_activity *a = &m->schedule->activities.items[i];
		if (a->kind == SCHEDULE_WAIT && a->cause != RUN_NONE && a->cause != i) {
			schedule_connect(m, before, a->cause);
			schedule_connect(m, a->cause, i);
		} else {
			schedule_connect(m, before, i);
		}
		if (a->kind == SCHEDULE_REST && a->sample == RUN_NONE && !drives && is_thread)
			link_gap(m, source, i);
		before = i;
	}
}

/* Each thread by itself, as long as it was: when times contradict each other. */
static void link_apart(struct schedule_maker *m, uint32_t source)
{
	struct schedule *s = m->schedule;

	m->edges.count = 0;
	s->counts = (struct schedule_counts){.contradictions = 1};
	for (size_t k = 0; k < s->spans.count; k++) {
		uint32_t first = s->spans.items[k].first;
		for (uint32_t i = first; i < first + s->spans.items[k].count; i++) {
			struct schedule_activity *a = &s->activities.items[i];
			a->duration_ns = a->end_ns - a->begin_ns;
			a->cause = RUN_NONE;
			if (a->kind == SCHEDULE_START ||
				(a->kind == SCHEDULE_REST && a->sample == RUN_NONE)) {
				a->kind = SCHEDULE_REST;
				a->owner = (uint32_t)m->run->brick_count + SCHEDULE_OWNER_REST;
			}
			schedule_connect(m, i == first ? source : i - 1, i);
		}
	}
}

/*
 * Whether a step ends after the work of another thread: of those that it meets at barriers, or, if
 * it meets none at all, of all that worked during the step only.
 */
static bool is_joined(const struct schedule_maker *m, size_t span)
{
	uint32_t lane = m->schedule->spans.items[span].lane;

	if (!m->lanes.items[span].stays || m->run->lanes[lane].kind != BRICK_LANE_THREAD)
		return false;
	return m->lanes.items[span].meets_driver || !m->lanes.items[0].meets_driver;
}

/* All that must have ended before the window does. The step's own lane is the first. */
static void link_end(struct schedule_maker *m, uint32_t source, uint32_t end)
{
	for (size_t k = 0; k < m->schedule->spans.count; k++) {
		const struct schedule_span *span = &m->schedule->spans.items[k];
		uint32_t last = span->count ? span->first + span->count - 1 : source;
		if (m->driver != RUN_NONE && span->lane != m->driver)
			last = is_joined(m, k) ? schedule_work_ended_by(m, span, m->end_ns)
					       : RUN_NONE;
		if (m->has_tail && m->run->lanes[span->lane].kind == BRICK_LANE_QUEUE)
			last = schedule_work_ended_by(m, span, m->end_ns);
		if (last != RUN_NONE)
			schedule_connect(m, last, end);
	}
	if (!m->schedule->spans.count)
		schedule_connect(m, source, end);
}

static void link_all(struct schedule_maker *m, uint32_t source, uint32_t end, bool apart)
{
	if (apart)
		link_apart(m, source);
	for (size_t k = 0; k < m->schedule->spans.count && !apart; k++)
		link_lane(m, source, &m->schedule->spans.items[k], m->lanes.items[k].drives);
	if (!apart)
		schedule_link_commands(m, source);
	link_end(m, source, end);
	for (uint32_t i = end + 1; i < m->schedule->activities.count; i++)
		schedule_connect(m, i - 1, i);
}

static int sort(struct schedule_maker *m)
{
	struct schedule *s = m->schedule;
	uint32_t *cycle = NULL, cycle_count;

	if (m->failed)
		return -ENOMEM;
	brick__dag_fini(&s->dag);
	int error = brick__dag_init(
		&s->dag, (uint32_t)s->activities.count, m->edges.items, m->edges.count);
	if (error == 0)
		error = brick__dag_sort(&s->dag, &cycle, &cycle_count);
	free(cycle);
	return error;
}

/* Everything after the samples have been taken. */
static int finish(struct schedule_maker *m)
{
	struct schedule *s = m->schedule;

	if (s->forks.count)
		qsort(s->forks.items, s->forks.count, sizeof(*s->forks.items), compare_forks);
	schedule_sort_calls(m);
	schedule_join_waits(m);
	uint32_t source = add_point(m, m->begin_ns), end = add_point(m, m->end_ns);
	s->after = (uint32_t)s->activities.count;
	if (s->step != RUN_NONE)
		schedule_take_after(m);
	s->end = (uint32_t)s->activities.count - 1;
	s->measured_ns = m->end_ns - m->begin_ns;
	for (uint32_t i = end + 1; !m->failed && i < s->activities.count; i++)
		s->measured_ns += s->activities.items[i].duration_ns;
	if (!m->failed)
		link_all(m, source, end, false);
	int error = sort(m);
	if (error == BRICK_ECYCLE) {
		link_all(m, source, end, true);
		error = sort(m);
	}
	array_fini(&m->lanes);
	array_fini(&m->waits);
	array_fini(&m->calls);
	array_fini(&m->commands);
	array_fini(&m->edges);
	if (error < 0)
		schedule_fini(s);
	return error;
}

static struct schedule_maker begin(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint64_t begin_ns,
	uint64_t end_ns)
{
	uint32_t wait = run_brick_find(run, brick_name(BRICK_BARRIER_WAIT));

	*schedule = (struct schedule){.run = run, .step = RUN_NONE, .begin_ns = begin_ns};
	return (struct schedule_maker){.schedule = schedule,
		.run = run,
		.index = index,
		.source = source,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.driver = RUN_NONE,
		.wait_owner = wait == RUN_NONE ? (uint32_t)run->brick_count + SCHEDULE_OWNER_BARRIER
					       : wait};
}

int schedule_of_step(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t step)
{
	const struct run_step *s = &run->steps[step];
	uint64_t end_ns = index->tails[step].end_ns;
	struct schedule_maker m = begin(schedule, run, index, source, s->begin_ns,
		end_ns > s->begin_ns ? end_ns : s->begin_ns);

	m.has_tail = end_ns > s->end_ns;
	m.is_cut = m.has_tail && index->tails[step].device_ns > end_ns;
	schedule->step = step;
	schedule->process = run->lanes[s->lane].process;
	take_step(&m, s);
	return finish(&m);
}

int schedule_of_process(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t process)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;

	for (size_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		if (lane->process != process || !lane->sample_count)
			continue;
		if (lane->samples[0].begin_ns < begin_ns)
			begin_ns = lane->samples[0].begin_ns;
	}
	if (begin_ns == UINT64_MAX)
		return BRICK_ENOTRECORDED;
	struct schedule_maker m = begin(schedule, run, index, source, begin_ns, UINT64_MAX);
	schedule->process = process;
	for (uint32_t i = 0; i < run->lane_count; i++)
		if (run->lanes[i].process == process)
			schedule_take_lane(&m, i, 0, run->lanes[i].sample_count);
	for (size_t k = 0; k < schedule->spans.count; k++) {
		const struct schedule_span *span = &schedule->spans.items[k];
		uint32_t last = span->first + span->count - 1;
		if (span->count && schedule->activities.items[last].end_ns > end_ns)
			end_ns = schedule->activities.items[last].end_ns;
	}
	m.end_ns = end_ns > begin_ns ? end_ns : begin_ns;
	return finish(&m);
}

void schedule_fini(struct schedule *schedule)
{
	brick__dag_fini(&schedule->dag);
	array_fini(&schedule->activities);
	array_fini(&schedule->forks);
	array_fini(&schedule->spans);
	memset(schedule, 0, sizeof(*schedule));
}
