/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out from measured times what waits waited for. A sweep over arrivals and leavings: whoever
 * leaves first shows that all who take part have arrived.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/path/schedule_state.h"
#include "base/members.h"
#include "base/order.h"

/* Arrivals and leavings come from different readings and roundings. */
enum { ROUNDING_NS = 2, LOOK_AHEAD = 256 };

struct event {
	uint64_t ns;
	uint32_t wait;
	uint32_t leaves;
};

struct sweep {
	struct schedule_maker *m;
	struct event *events, *merged;
	size_t event_count, at;	   /* the event that is being looked at */
	size_t *parts, part_count; /* where parts of events begin that are in order */
	uint32_t *before, *after;  /* [waits] the thread's waits at other barriers, or RUN_NONE */
	uint32_t *open; /* waits of those who have arrived and whose barrier is not known yet */
	size_t open_count;
	uint64_t patience; /* how often more a stranger may be looked at again */
};

/* Without branches: nobody foresees who is first. */
static bool is_before(const struct event *x, const struct event *y)
{
	bool less = (x->leaves < y->leaves) | ((x->leaves == y->leaves) & (x->wait < y->wait));

	return (x->ns < y->ns) | ((x->ns == y->ns) & less);
}

static const struct schedule_wait *wait_of(const struct sweep *s, size_t open)
{
	return &s->m->waits.items[s->open[open]];
}

/* Whether two waits may be for the same: 1, -1 if not, 0 if there are none. */
static int are_together(const struct sweep *s, uint32_t a, uint32_t b)
{
	if (a == RUN_NONE || b == RUN_NONE)
		return a == b ? 0 : -1;
	const struct schedule_wait *x = &s->m->waits.items[a], *y = &s->m->waits.items[b];
	return x->arrive_ns <= y->leave_ns + ROUNDING_NS &&
			       y->arrive_ns <= x->leave_ns + ROUNDING_NS
		       ? 1
		       : -1;
}

/* The place of a thread among the open ones; open_count: it is not there. */
static size_t place_of(const struct sweep *s, uint32_t lane)
{
	size_t i = 0;

	while (i < s->open_count && wait_of(s, i)->lane != lane)
		i++;
	return i;
}

/* Whether somebody who is not here yet leaves at nearly the same time as `waits`. */
static bool has_other_company(const struct sweep *s, uint64_t left_ns, uint32_t waits)
{
	const struct schedule_wait *w = &s->m->waits.items[waits];
	size_t end = s->at + LOOK_AHEAD < s->event_count ? s->at + LOOK_AHEAD : s->event_count;

	for (size_t i = s->at; i < end && s->events[i].ns <= w->leave_ns; i++) {
		const struct schedule_wait *other = &s->m->waits.items[s->events[i].wait];
		uint64_t apart_ns = other->leave_ns > w->leave_ns ? other->leave_ns - w->leave_ns
								  : w->leave_ns - other->leave_ns;
		if (!s->events[i].leaves && apart_ns < w->leave_ns - left_ns &&
			place_of(s, other->lane) == s->open_count)
			return true;
	}
	return false;
}

/*
 * Whether who waits while another leaves may wait for the same as that one. Not if it leaves later,
 * together with somebody who is still to come. Else those who come together here have come together
 * before, or will again.
 */
static bool is_member(const struct sweep *s, uint32_t leaves, uint32_t waits)
{
	uint64_t left_ns = s->m->waits.items[leaves].leave_ns;

	if (leaves == waits)
		return true;
	if (s->m->waits.items[waits].leave_ns > left_ns + ROUNDING_NS &&
		has_other_company(s, left_ns, waits))
		return false;
	return are_together(s, s->before[leaves], s->before[waits]) +
		       are_together(s, s->after[leaves], s->after[waits]) >=
	       0;
}

/* Move those who wait for something else behind the others; returns how many are left. */
static size_t drop_strangers(struct sweep *s, uint32_t leaves)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->open_count; i++) {
		uint32_t wait = s->open[i];
		if (!is_member(s, leaves, wait))
			continue;
		s->open[i] = s->open[kept];
		s->open[kept++] = wait;
	}
	return kept;
}

/* Those who were there when the first of them left: what they wait longer is their own. */
static void join(struct sweep *s, size_t members)
{
	struct schedule_maker *m = s->m;
	uint64_t last_ns = m->begin_ns;

	for (size_t i = 0; i < members; i++)
		if (wait_of(s, i)->arrive_ns > last_ns)
			last_ns = wait_of(s, i)->arrive_ns;
	uint32_t point = schedule_add(m, &(struct schedule_activity){.begin_ns = last_ns,
						 .end_ns = last_ns,
						 .owner = m->wait_owner,
						 .lane = RUN_NONE,
						 .sample = RUN_NONE,
						 .cause = RUN_NONE,
						 .kind = SCHEDULE_POINT});
	if (point == RUN_NONE)
		return;
	m->schedule->counts.barriers++;
	bool has_driver = false;
	for (size_t i = 0; i < members; i++)
		has_driver |= m->schedule->spans.items[wait_of(s, i)->lane].lane == m->driver;
	for (size_t i = 0; i < members; i++) {
		m->lanes.items[wait_of(s, i)->lane].meets_driver |= has_driver;
		const struct schedule_wait *wait = wait_of(s, i);
		struct schedule_activity *activity = &m->schedule->activities.items[wait->activity];
		activity->cause = point;
		activity->duration_ns = wait->leave_ns > last_ns ? wait->leave_ns - last_ns : 0;
	}
}

/* One of the open ones leaves as the first: all who take part were there. */
static void close_barrier(struct sweep *s, uint32_t leaves)
{
	size_t members = drop_strangers(s, leaves), strangers = s->open_count - members;

	if (members > 1)
		join(s, members);
	if (strangers > s->patience)
		strangers = 0; /* many wait for nothing that can be found */
	s->patience -= strangers;
	for (size_t i = 0; i < strangers; i++)
		s->open[i] = s->open[members + i];
	s->open_count = strangers;
}

static bool is_open(const struct sweep *s, uint32_t wait)
{
	for (size_t i = 0; i < s->open_count; i++)
		if (s->open[i] == wait)
			return true;
	return false;
}

/* A thread that arrives has left the barrier before, whatever rounding says. */
static void arrive(struct sweep *s, uint32_t wait)
{
	size_t place = place_of(s, s->m->waits.items[wait].lane);

	if (place < s->open_count)
		close_barrier(s, s->open[place]);
	s->open[s->open_count++] = wait;
}

static void find_neighbours(struct sweep *s)
{
	const struct schedule_maker *m = s->m;
	uint32_t last = RUN_NONE;

	for (uint32_t i = 0; i < m->waits.count; i++) {
		s->before[i] = s->after[i] = RUN_NONE;
		if (m->waits.items[i].kind != WAIT_BARRIER)
			continue;
		if (last != RUN_NONE && m->waits.items[last].lane == m->waits.items[i].lane) {
			s->before[i] = last;
			s->after[last] = i;
		}
		last = i;
	}
}

/* The leavings of a lane up to that event; *next is the wait to leave next. */
static void add_leavings(struct sweep *s, uint32_t *next, const struct event *until)
{
	for (; *next < until->wait; (*next)++) {
		const struct schedule_wait *w = &s->m->waits.items[*next];
		const struct event leaving = {w->leave_ns + ROUNDING_NS, *next, 1};
		if (w->kind != WAIT_BARRIER)
			continue;
		if (!is_before(&leaving, until))
			break;
		s->events[s->event_count++] = leaving;
	}
}

/* Arrivals and leavings of a lane, each in the order of time, are a part. */
static void add_events(struct sweep *s)
{
	const struct schedule_maker *m = s->m;
	uint32_t lane = RUN_NONE, next = 0, count = (uint32_t)m->waits.count;

	for (uint32_t i = 0; i < count; i++) {
		const struct schedule_wait *w = &m->waits.items[i];
		if (w->kind != WAIT_BARRIER)
			continue;
		if (w->lane != lane) {
			add_leavings(s, &next, &(struct event){UINT64_MAX, i, 1});
			s->parts[s->part_count++] = s->event_count;
		}
		lane = w->lane;
		const struct event arrival = {w->arrive_ns, i, 0};
		add_leavings(s, &next, &arrival);
		s->events[s->event_count++] = arrival;
	}
	add_leavings(s, &next, &(struct event){UINT64_MAX, count, 1});
}

/* [from, middle) and [middle, end) become one part, elsewhere. */
static void merge(
	struct event *to, const struct event *events, size_t from, size_t middle, size_t end)
{
	size_t a = from, b = middle, i = from;

	while (a < middle && b < end) {
		bool is_second = is_before(&events[b], &events[a]);
		to[i++] = events[is_second ? b : a];
		b += is_second;
		a += !is_second;
	}
	memcpy(&to[i], &events[a], (middle - a) * sizeof *to);
	memcpy(&to[i + middle - a], &events[b], (end - b) * sizeof *to);
}

/* Pairs of parts become parts until there is one. */
static void sort_events(struct sweep *s)
{
	while (s->part_count > 1) {
		struct event *events = s->events;
		size_t kept = 0;
		s->parts[s->part_count] = s->event_count;
		s->parts[s->part_count + 1] = s->event_count;
		for (size_t i = 0; i < s->part_count; i += 2) {
			merge(s->merged, events, s->parts[i], s->parts[i + 1], s->parts[i + 2]);
			s->parts[kept++] = s->parts[i];
		}
		s->part_count = kept;
		s->events = s->merged;
		s->merged = events;
	}
}

static void run_sweep(struct sweep *s)
{
	const struct schedule_maker *m = s->m;

	add_events(s);
	sort_events(s);
	find_neighbours(s);
	s->patience = 64 * m->waits.count + 1000000;
	for (size_t i = 0; i < s->event_count && !m->failed; i++) {
		const struct event *e = &s->events[i];
		s->at = i + 1;
		if (!e->leaves)
			arrive(s, e->wait);
		else if (is_open(s, e->wait))
			close_barrier(s, e->wait);
	}
}

static void join_barriers(struct schedule_maker *m)
{
	struct sweep s = {.m = m,
		.events = malloc((2 * m->waits.count + 1) * sizeof(struct event)),
		.merged = malloc((2 * m->waits.count + 1) * sizeof(struct event)),
		.parts = malloc((m->schedule->spans.count + 2) * sizeof(size_t)),
		.before = malloc((m->waits.count + 1) * sizeof(uint32_t)),
		.after = malloc((m->waits.count + 1) * sizeof(uint32_t)),
		.open = malloc((m->schedule->spans.count + 1) * sizeof(uint32_t))};

	if (s.events && s.merged && s.parts && s.before && s.after && s.open)
		run_sweep(&s);
	else
		m->failed = true;
	members_free(&s, events, merged, parts, before, after, open);
}

uint32_t schedule_work_ended_by(
	const struct schedule_maker *m, const struct schedule_span *span, uint64_t ns)
{
	const struct schedule_activity *activities = m->schedule->activities.items + span->first;
	uint32_t low = (uint32_t)BISECT(i, 0, span->count, activities[i].end_ns <= ns);

	while (low && activities[low - 1].kind != SCHEDULE_WORK)
		low--;
	return low ? span->first + low - 1 : RUN_NONE;
}

/* A wait for devices can end when its commands have; else when all queues have ended what they
 * had. */
static void join_devices(struct schedule_maker *m, const struct schedule_wait *wait)
{
	struct schedule_activity *activity = &m->schedule->activities.items[wait->activity];
	uint64_t last_ns = schedule_join_commands(m, wait);
	bool is_known = last_ns != 0;

	for (size_t i = 0; i < m->schedule->spans.count && !is_known; i++) {
		const struct schedule_span *queue = &m->schedule->spans.items[i];
		if (m->run->lanes[queue->lane].kind != BRICK_LANE_QUEUE)
			continue;
		uint32_t ended = schedule_work_ended_by(m, queue, wait->leave_ns);
		if (ended == RUN_NONE)
			continue;
		schedule_connect(m, ended, wait->activity);
		if (m->schedule->activities.items[ended].end_ns > last_ns)
			last_ns = m->schedule->activities.items[ended].end_ns;
	}
	if (last_ns <= activity->begin_ns)
		return;
	activity->duration_ns = wait->leave_ns - last_ns;
	activity->cause = wait->activity;
}

void schedule_join_waits(struct schedule_maker *m)
{
	struct schedule_counts *counts = &m->schedule->counts;

	join_barriers(m);
	for (size_t i = 0; i < m->waits.count && !m->failed; i++) {
		const struct schedule_wait *wait = &m->waits.items[i];
		const struct schedule_activity *activity =
			&m->schedule->activities.items[wait->activity];
		if (wait->kind == WAIT_DEVICE)
			join_devices(m, wait);
		if (wait->leave_ns > m->end_ns && activity->cause == RUN_NONE)
			continue; /* for something after the window */
		counts->waits++;
		if (activity->cause != RUN_NONE)
			continue;
		counts->unknown_waits++;
		counts->unknown_wait_ns += activity->duration_ns;
	}
}
