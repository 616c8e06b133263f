/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a schedule: finds the activities in a window, then their order. A window is a step with all
 * that its process did meanwhile, or a whole process. The same walk that feeds the report cuts the
 * time of each lane into activities without a gap, so that path and report assign times alike.
 * Waits are explained from measured times: when the first thread leaves a barrier, all that take
 * part have arrived. A device can begin a command when its launch has come and the commands before
 * it have ended; a longer time is launch latency, which stays as it was. An order that measured
 * times contradict (clocks of device and host agree only so well) is dropped: see link_apart().
 */
#include "analysis/path/schedule.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/walk/walk.h"
#include "base/array.h"
#include "base/members.h"
#include "base/order.h"
#include "brick/error.h"

/* Facts about the lane of a span. */
struct schedule_lane {
	bool drives;	   /* it runs steps, which decide when other lanes begin */
	bool stays;	   /* all of its work lies within the step */
	bool meets_driver; /* it meets the step's lane at a barrier */
};

enum schedule_wait_kind { WAIT_BARRIER, WAIT_DEVICE, WAIT_OTHER };

struct schedule_wait {
	uint64_t arrive_ns, leave_ns;
	uint32_t first; /* the wait may be several activities, cut where its thread was preempted */
	uint32_t activity; /* the last of these, or the one that the others' arrival ended */
	uint32_t lane;	   /* number of its span */
	uint8_t kind;	   /* enum schedule_wait_kind */
};

/* A sample of a thread that launched commands. */
struct schedule_call {
	uint32_t lane, sample;
	uint32_t before; /* the activity that ended when it began; RUN_NONE: the window's begin */
	uint32_t last;	 /* its own last activity; RUN_NONE: not ended yet */
	uint64_t begin_ns;
};

/* A command of a queue that stands on its own there, not inside of another. */
struct schedule_command {
	uint32_t command; /* in run->commands */
	uint32_t gap;	  /* the activity before it, in which its queue did nothing, or RUN_NONE */
	uint32_t first, last; /* its own activities; last is RUN_NONE until it has ended */
};

struct maker {
	struct schedule *schedule;
	const struct run *run;
	const struct step_index *index;
	const struct schedule_source *source;
	uint64_t begin_ns, end_ns;
	uint32_t driver; /* lane of the step; RUN_NONE: the window is a process */
	bool has_tail;	 /* the step's window goes on after its evaluation */
	bool is_cut;	 /* the tail was cut, where the device still worked */
	uint32_t wait_owner;

	ARRAY(struct schedule_lane) lanes; /* as many as spans */
	ARRAY(struct schedule_wait) waits; /* by lane, then by time */
	ARRAY(struct schedule_call) calls;
	ARRAY(struct schedule_command) commands; /* ascending */
	ARRAY(struct brick__dag_edge) edges;
	bool failed; /* out of memory */
};

/* Takes the result of an array_*(): not enough memory is a failure of the maker. */
static inline bool schedule_has_failed(struct maker *m, int error)
{
	m->failed |= error != 0;
	return m->failed;
}

/* Appends an activity for the caller to fill in; NULL: no memory. */
static struct schedule_activity *next_activity(struct maker *m)
{
	struct schedule *s = m->schedule;

	if (s->activities.count >= UINT32_MAX / 4)
		m->failed = true;
	if (m->failed || schedule_has_failed(m, array_reserve(&s->activities, 1)))
		return NULL;
	return &s->activities.items[s->activities.count++];
}

/* Appends an activity; returns its index. */
static uint32_t schedule_add_activity(struct maker *m, const struct schedule_activity *activity)
{
	struct schedule_activity *next = next_activity(m);

	if (!next)
		return RUN_NONE;
	*next = *activity;
	return (uint32_t)m->schedule->activities.count - 1;
}

static inline void schedule_connect(struct maker *m, uint32_t from, uint32_t to)
{
	schedule_has_failed(m, array_push(&m->edges, (struct brick__dag_edge){from, to}));
}

/* The last activity of work of a lane that had ended at that time; RUN_NONE: none had. */
static uint32_t work_ended_by(const struct maker *m, const struct schedule_span *span, uint64_t ns)
{
	const struct schedule_activity *activities = m->schedule->activities.items + span->first;
	uint32_t low = (uint32_t)BISECT(i, 0, span->count, activities[i].end_ns <= ns);

	while (low && activities[low - 1].kind != SCHEDULE_WORK)
		low--;
	return low ? span->first + low - 1 : RUN_NONE;
}

struct cutter {
	struct maker *m;
	uint32_t lane, place;
	bool is_thread;
	uint64_t cursor_ns;
};

static uint32_t schedule_brick_of(const struct cutter *c, const struct walk_frame *frame)
{
	return c->m->run->sites[frame->sample->site].brick;
}

/* An activity before its times are known. */
struct part {
	uint32_t owner, sample;
	uint8_t kind, is_last;
	bool is_device; /* perhaps a wait for one, which needs no CPU */
};

/* Appends the time between the cursor and `end_ns`; empty parts only if they stand for a sample. */
static uint32_t cut_piece(struct cutter *c, uint64_t end_ns, struct part part)
{
	uint64_t from = c->cursor_ns > c->m->begin_ns ? c->cursor_ns : c->m->begin_ns;
	uint64_t to = end_ns > from ? end_ns : from;

	if (to == from && !part.is_last)
		return RUN_NONE;
	c->cursor_ns = to;
	struct schedule_activity *activity = next_activity(c->m);
	if (!activity)
		return RUN_NONE;
	*activity = (struct schedule_activity){.begin_ns = from,
		.end_ns = to,
		.duration_ns = to - from,
		.owner = part.owner,
		.lane = c->lane,
		.sample = part.sample,
		.cause = RUN_NONE,
		.kind = part.kind,
		.is_last = part.is_last};
	return (uint32_t)c->m->schedule->activities.count - 1;
}

/*
 * Appends the time up to the last one before `end_ns` that the thread was off its CPU: no brick
 * buys it.
 */
static void cut_off_cpu(struct cutter *c, uint64_t end_ns, struct part part)
{
	const struct run_lane *lane = &c->m->run->lanes[c->lane];
	uint64_t from = c->cursor_ns > c->m->begin_ns ? c->cursor_ns : c->m->begin_ns;
	uint32_t bricks = (uint32_t)c->m->run->brick_count;
	struct part off = part;

	bool may_block = part.kind != SCHEDULE_WAIT && part.sample != RUN_NONE;

	part.is_last = off.is_last = 0;
	off.kind = SCHEDULE_OFF;
	for (size_t i = run_off_cpu_from(lane, from);
		i < lane->off_cpu_count && lane->off_cpu[i].begin_ns < end_ns; i++) {
		const struct run_off_cpu *o = &lane->off_cpu[i];
		if (!o->preempted && !may_block)
			continue;
		off.owner =
			bricks + (o->preempted ? SCHEDULE_OWNER_PREEMPTED : SCHEDULE_OWNER_BLOCKED);
		cut_piece(c, o->begin_ns, part);
		cut_piece(c, o->end_ns < end_ns ? o->end_ns : end_ns, off);
	}
}

/*
 * As cut_piece(), but times that the thread was off its CPU stand by themselves. In waits, and in
 * time without work, only being preempted counts: a thread without a CPU when the others have come
 * keeps them waiting at the next barrier.
 */
static uint32_t schedule_cut(struct cutter *c, uint64_t end_ns, struct part part)
{
	if (c->is_thread && !part.is_device && c->m->run->lanes[c->lane].off_cpu_count)
		cut_off_cpu(c, end_ns, part);
	return cut_piece(c, end_ns, part);
}

static void schedule_add_wait(
	struct cutter *c, uint64_t arrive_ns, uint32_t first, uint32_t activity, uint8_t kind)
{
	struct maker *m = c->m;

	if (activity == RUN_NONE)
		return;
	uint64_t leave_ns = m->schedule->activities.items[activity].end_ns;
	schedule_has_failed(m, array_push(&m->waits, (struct schedule_wait){arrive_ns, leave_ns,
							     first, activity, c->place, kind}));
}

/* Appends a brick's own time up to `end_ns`. */
static void cut_own(struct cutter *c, const struct walk_frame *frame, uint64_t end_ns, bool is_last)
{
	uint32_t brick = schedule_brick_of(c, frame);
	enum brick_kind kind = c->m->index->kinds[brick];
	struct part part = {
		.owner = schedule_owner_of(c->m->run, &c->m->run->sites[frame->sample->site]),
		.sample = frame->index,
		.is_last = is_last,
		.kind = SCHEDULE_WORK};

	if (kind == BRICK_KIND_STEP) {
		part.kind = SCHEDULE_REST;
		part.owner = (uint32_t)c->m->run->brick_count + SCHEDULE_OWNER_REST;
	}
	if (kind == BRICK_KIND_WAIT) {
		part.kind = SCHEDULE_WAIT;
		part.is_device = c->m->run->command_count &&
				 c->m->run->bricks[brick].well_known != BRICK_BARRIER_WAIT;
	}
	uint64_t arrive_ns = c->cursor_ns;
	uint32_t first = (uint32_t)c->m->schedule->activities.count;
	uint32_t activity = schedule_cut(c, end_ns, part);
	if (kind != BRICK_KIND_WAIT)
		return;
	int known = c->m->run->bricks[brick].well_known;
	schedule_add_wait(c, arrive_ns, first, activity,
		known == BRICK_BARRIER_WAIT && c->is_thread ? WAIT_BARRIER
		: known == BRICK_SYNCHRONIZE		    ? WAIT_DEVICE
							    : WAIT_OTHER);
}

/* Appends the lane's time in none of its samples. */
static uint32_t cut_gap(struct cutter *c, uint64_t end_ns)
{
	return schedule_cut(c, end_ns,
		(struct part){.owner = (uint32_t)c->m->run->brick_count + SCHEDULE_OWNER_REST,
			.sample = RUN_NONE,
			.kind = SCHEDULE_REST});
}

/* The activity that ended just now on this lane; RUN_NONE: the lane's first comes next. */
static uint32_t schedule_last_activity(const struct cutter *c)
{
	const struct schedule *s = c->m->schedule;
	return s->activities.count > s->spans.items[c->place].first
		       ? (uint32_t)s->activities.count - 1
		       : RUN_NONE;
}

/* Others may begin because of this one: of a step, or of the computation of a graph. */
static void add_fork(struct cutter *c, const struct walk_frame *frame)
{
	struct maker *m = c->m;
	uint32_t brick = schedule_brick_of(c, frame);

	if (m->index->kinds[brick] != BRICK_KIND_STEP &&
		m->run->bricks[brick].well_known != BRICK_GRAPH_COMPUTE)
		return;
	if (schedule_has_failed(m, array_push(&m->schedule->forks,
					   (struct schedule_fork){c->cursor_ns, c->lane,
						   frame->index, schedule_last_activity(c)})))
		return;
	m->lanes.items[c->place].drives = true;
}

static void schedule_on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct cutter *c = context;
	uint32_t gap = RUN_NONE;

	if (depth > 1)
		cut_own(c, frame - 1, frame->begin_ns, false);
	else
		gap = cut_gap(c, frame->begin_ns);
	if (c->is_thread)
		add_fork(c, frame);
	if (!c->m->run->command_count)
		return;
	struct maker *m = c->m;
	if (c->is_thread) {
		uint32_t launched;
		launches_of(&m->source->launches, c->lane, frame->index, &launched);
		const struct schedule_call call = {
			c->lane, frame->index, schedule_last_activity(c), RUN_NONE, c->cursor_ns};
		if (launched)
			schedule_has_failed(m, array_push(&m->calls, call));
	} else if (depth == 1) {
		const struct run_command *command = launches_command(m->run, c->lane, frame->index);
		const struct schedule_command own = {
			command ? (uint32_t)(command - m->run->commands) : RUN_NONE, gap,
			(uint32_t)m->schedule->activities.count, RUN_NONE};
		if (command)
			schedule_has_failed(m, array_push(&m->commands, own));
	}
}

static void schedule_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct cutter *c = context;
	struct maker *m = c->m;

	cut_own(c, frame, frame->end_ns, true);
	if (m->run->command_count && c->is_thread) {
		for (size_t i = m->calls.count; i-- > 0 && m->calls.items[i].lane == c->lane;) {
			if (m->calls.items[i].sample == frame->index)
				m->calls.items[i].last = schedule_last_activity(c);
			if (m->calls.items[i].sample <= frame->index)
				break;
		}
	} else if (m->commands.count && depth == 1) {
		struct schedule_command *own = &m->commands.items[m->commands.count - 1];
		if (m->run->commands[own->command].sample == frame->index)
			own->last = schedule_last_activity(c);
	}
	if (frame->end_ns > m->end_ns &&
		m->index->kinds[schedule_brick_of(c, frame)] == BRICK_KIND_WORK)
		m->lanes.items[c->place].stays = false;
	/* A step's wait after its end is in its account, but in its window only with a tail. */
	if (!frame->wait_ns || (c->lane == m->driver && depth == 1 && !m->has_tail))
		return;
	uint64_t arrive_ns = c->cursor_ns;
	uint32_t first = (uint32_t)m->schedule->activities.count;
	uint32_t activity = schedule_cut(c, frame->end_ns + frame->wait_ns,
		(struct part){.owner = m->wait_owner,
			.sample = frame->index,
			.is_last = 1,
			.kind = SCHEDULE_WAIT});
	schedule_add_wait(c, arrive_ns, first, activity, c->is_thread ? WAIT_BARRIER : WAIT_OTHER);
}

static void schedule_take_lane(struct maker *m, uint32_t lane, size_t first, size_t end)
{
	static const struct walk_ops ops = {.begin = schedule_on_begin, .end = schedule_on_end};
	struct schedule *to = m->schedule;
	const struct run_lane *from = &m->run->lanes[lane];
	size_t place = to->spans.count;

	if (first == end)
		return;
	const struct run_sample *sample = &from->samples[first];
	bool crosses = sample->begin_ns < m->begin_ns && sample->end_ns > m->begin_ns &&
		       m->index->kinds[m->run->sites[sample->site].brick] == BRICK_KIND_WORK;
	struct schedule_span span = {lane, (uint32_t)to->activities.count, 0};
	struct cutter c = {.m = m,
		.lane = lane,
		.place = (uint32_t)place,
		.is_thread = from->kind == BRICK_LANE_THREAD,
		.cursor_ns = m->begin_ns};
	if (schedule_has_failed(
		    m, array_push(&m->lanes, (struct schedule_lane){.stays = !crosses})) ||
		schedule_has_failed(m, array_push(&to->spans, span)) ||
		schedule_has_failed(m, array_reserve(&to->activities, end - first)))
		return;
	walk_samples(m->run, &m->source->windows, lane, first, end, &ops, &c);
	if (m->is_cut && lane == m->driver)
		cut_gap(&c, m->end_ns);
	to->spans.items[place].count = (uint32_t)to->activities.count - span.first;
}

COMPARATOR(schedule_by_place, struct schedule_call,
	ORDER(x->lane, y->lane) ?: ORDER(x->sample, y->sample))

static const struct schedule_call *call_of(const struct maker *m, const struct run_command *command)
{
	const struct schedule_call key = {
		.lane = command->launch_lane, .sample = command->launch_sample};

	if (command->launch_lane == RUN_NONE || !m->calls.count)
		return NULL;
	return bsearch(&key, m->calls.items, m->calls.count, sizeof(key), schedule_by_place);
}

/* A command in the window, by its number in run->commands; they were added in that order. */
static const struct schedule_command *command_at(const struct maker *m, uint32_t number)
{
	const struct schedule_command *c = m->commands.items;
	size_t n = BISECT(i, 0, m->commands.count, c[i].command < number);

	return n < m->commands.count && c[n].command == number ? &c[n] : NULL;
}

/* The earliest begin of a command, as far as it is known. */
struct ready {
	uint32_t before;   /* the activity that must have ended */
	uint64_t ready_ns; /* when it had */
};

static struct ready schedule_launch_of(const struct maker *m, uint32_t source,
	const struct run_command *command, uint64_t begin_ns)
{
	const struct schedule_activity *activities = m->schedule->activities.items;
	const struct schedule_call *call = call_of(m, command);

	if (!call)
		return (struct ready){RUN_NONE, 0};
	if (call->last != RUN_NONE && activities[call->last].end_ns <= begin_ns)
		return (struct ready){call->last, activities[call->last].end_ns};
	if (call->begin_ns > begin_ns)
		return (struct ready){RUN_NONE, 0};
	return (struct ready){call->before == RUN_NONE ? source : call->before, call->begin_ns};
}

/* Connects an activity to the command, which begins at begin_ns, and moves `ready_ns` on. */
static void schedule_follow(struct maker *m, const struct ready *ready, uint64_t begin_ns,
	uint32_t target, uint64_t *ready_ns)
{
	if (ready->before == RUN_NONE || ready->ready_ns > begin_ns || ready->before == target)
		return;
	schedule_connect(m, ready->before, target);
	if (ready->ready_ns > *ready_ns)
		*ready_ns = ready->ready_ns;
}

static void link_command(struct maker *m, uint32_t source, const struct schedule_command *c)
{
	struct schedule *s = m->schedule;
	const struct run_command *command = &m->run->commands[c->command];
	uint64_t begin_ns = s->activities.items[c->first].begin_ns;
	uint32_t target = c->gap == RUN_NONE ? c->first : c->gap;
	uint64_t ready_ns = c->gap == RUN_NONE ? begin_ns : s->activities.items[c->gap].begin_ns;
	struct ready launch = schedule_launch_of(m, source, command, begin_ns);

	schedule_follow(m, &launch, begin_ns, target, &ready_ns);
	for (uint32_t i = 0; i < command->dependency_count; i++) {
		const struct schedule_command *other =
			command_at(m, m->run->dependencies[command->dependency_first + i]);
		if (!other || other->last == RUN_NONE)
			continue;
		const struct ready after = {other->last, s->activities.items[other->last].end_ns};
		schedule_follow(m, &after, begin_ns, target, &ready_ns);
	}
	if (launch.before == RUN_NONE)
		return;
	s->counts.launches++;
	if (c->gap == RUN_NONE)
		return;
	s->activities.items[c->gap].owner = (uint32_t)m->run->brick_count + SCHEDULE_OWNER_LAUNCH;
	s->activities.items[c->gap].duration_ns = begin_ns - ready_ns;
}

/* The end of the last command that a wait was for; 0: not known. */
static uint64_t join_commands(struct maker *m, const struct schedule_wait *wait)
{
	const struct schedule_activity *activities = m->schedule->activities.items;
	const struct run *run = m->run;
	uint32_t lane = activities[wait->activity].lane;
	uint32_t sample = activities[wait->activity].sample;
	uint64_t last_ns = 0;

	if (!run->wait_count || sample == RUN_NONE)
		return 0;
	for (size_t i = launches_first_wait(run, lane, sample);
		i < run->wait_count && run->waits[i].lane == lane && run->waits[i].sample == sample;
		i++) {
		const struct schedule_command *c = command_at(m, run->waits[i].command);
		if (!c || c->last == RUN_NONE || activities[c->last].end_ns > wait->leave_ns)
			continue;
		schedule_connect(m, c->last, wait->activity);
		if (activities[c->last].end_ns > last_ns)
			last_ns = activities[c->last].end_ns;
	}
	return last_ns;
}

/* Tolerance in ns: arrivals and leavings come from different clock readings and roundings. */
enum { ROUNDING_NS = 2, LOOK_AHEAD = 256 };

struct event {
	uint64_t ns;
	uint32_t wait;
	uint32_t leaves;
};

struct sweep {
	struct maker *m;
	struct event *events, *merged;
	size_t event_count, at;	   /* the event that is being looked at */
	size_t *parts, part_count; /* where parts of events begin that are in order */
	uint32_t *before, *after;  /* [waits] the thread's waits at other barriers, or RUN_NONE */
	uint32_t *open; /* waits of those who have arrived and whose barrier is not known yet */
	size_t open_count;
	uint64_t patience; /* how often more a stranger may be looked at again */
};

/* Compares without branches: nobody foresees who is first. */
static bool is_before(const struct event *x, const struct event *y)
{
	bool less = (x->leaves < y->leaves) | ((x->leaves == y->leaves) & (x->wait < y->wait));

	return (x->ns < y->ns) | ((x->ns == y->ns) & less);
}

static const struct schedule_wait *wait_of(const struct sweep *s, size_t open)
{
	return &s->m->waits.items[s->open[open]];
}

/* Can two waits be for the same barrier? 1: yes; -1: no; 0: there are no waits. */
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
static size_t schedule_place_of(const struct sweep *s, uint32_t lane)
{
	size_t i = 0;

	while (i < s->open_count && wait_of(s, i)->lane != lane)
		i++;
	return i;
}

/* True if somebody who is not here yet leaves at nearly the same time as `waits`. */
static bool has_other_company(const struct sweep *s, uint64_t left_ns, uint32_t waits)
{
	const struct schedule_wait *w = &s->m->waits.items[waits];
	size_t end = s->at + LOOK_AHEAD < s->event_count ? s->at + LOOK_AHEAD : s->event_count;

	for (size_t i = s->at; i < end && s->events[i].ns <= w->leave_ns; i++) {
		const struct schedule_wait *other = &s->m->waits.items[s->events[i].wait];
		uint64_t apart_ns = other->leave_ns > w->leave_ns ? other->leave_ns - w->leave_ns
								  : w->leave_ns - other->leave_ns;
		if (!s->events[i].leaves && apart_ns < w->leave_ns - left_ns &&
			schedule_place_of(s, other->lane) == s->open_count)
			return true;
	}
	return false;
}

/*
 * True if a thread that waits while another leaves may wait for the same. It does not if it leaves
 * later, together with somebody who is still to come. Otherwise those who come together here have
 * come together before, or will again.
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

/* Moves waits for something else behind the others; returns how many are left. */
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

/*
 * Leaves a wait only its own part, from last_ns on, when all had come: its activities before then
 * take no time. Returns the first that does, or the last of all.
 */
static uint32_t schedule_shorten(
	struct maker *m, const struct schedule_wait *wait, uint64_t last_ns)
{
	struct schedule_activity *activities = m->schedule->activities.items;
	uint32_t i = wait->first;

	for (; i < wait->activity && activities[i].end_ns <= last_ns; i++)
		activities[i].duration_ns = 0;
	uint64_t from_ns = activities[i].begin_ns > last_ns ? activities[i].begin_ns : last_ns;
	activities[i].duration_ns =
		activities[i].end_ns > from_ns ? activities[i].end_ns - from_ns : 0;
	return i;
}

/* Joins the waits that were open when the first of them ended: a longer wait is a thread's own. */
static void schedule_join(struct sweep *s, size_t members)
{
	struct maker *m = s->m;
	uint64_t last_ns = m->begin_ns;

	for (size_t i = 0; i < members; i++)
		if (wait_of(s, i)->arrive_ns > last_ns)
			last_ns = wait_of(s, i)->arrive_ns;
	uint32_t point = schedule_add_activity(m, &(struct schedule_activity){.begin_ns = last_ns,
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
		struct schedule_wait *wait = &m->waits.items[s->open[i]];
		wait->activity = schedule_shorten(m, wait, last_ns);
		m->schedule->activities.items[wait->activity].cause = point;
	}
}

/* Closes a barrier: one of the open waits ends first, so all who take part were there. */
static void close_barrier(struct sweep *s, uint32_t leaves)
{
	size_t members = drop_strangers(s, leaves), strangers = s->open_count - members;

	if (members > 1)
		schedule_join(s, members);
	if (strangers > s->patience)
		strangers = 0; /* many wait for nothing that can be found */
	s->patience -= strangers;
	for (size_t i = 0; i < strangers; i++)
		s->open[i] = s->open[members + i];
	s->open_count = strangers;
}

static bool schedule_is_open(const struct sweep *s, uint32_t wait)
{
	for (size_t i = 0; i < s->open_count; i++)
		if (s->open[i] == wait)
			return true;
	return false;
}

/* A thread that arrives has left the barrier before, whatever rounding says. */
static void arrive(struct sweep *s, uint32_t wait)
{
	size_t place = schedule_place_of(s, s->m->waits.items[wait].lane);

	if (place < s->open_count)
		close_barrier(s, s->open[place]);
	s->open[s->open_count++] = wait;
}

static void find_neighbours(struct sweep *s)
{
	const struct maker *m = s->m;
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
	const struct maker *m = s->m;
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
static void schedule_merge(
	struct event *to, const struct event *events, size_t from, size_t middle, size_t end)
{
	size_t a = from, b = middle, i = from;

	while (a < middle && b < end) {
		bool is_second = is_before(&events[b], &events[a]);
		to[i++] = events[is_second ? b : a];
		b += is_second;
		a += !is_second;
	}
	memcpy(&to[i], &events[a], (middle - a) * sizeof(*to));
	memcpy(&to[i + middle - a], &events[b], (end - b) * sizeof(*to));
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
			schedule_merge(
				s->merged, events, s->parts[i], s->parts[i + 1], s->parts[i + 2]);
			s->parts[kept++] = s->parts[i];
		}
		s->part_count = kept;
		s->events = s->merged;
		s->merged = events;
	}
}

static void run_sweep(struct sweep *s)
{
	const struct maker *m = s->m;

	add_events(s);
	sort_events(s);
	find_neighbours(s);
	s->patience = 64 * m->waits.count + 1000000;
	for (size_t i = 0; i < s->event_count && !m->failed; i++) {
		const struct event *e = &s->events[i];
		s->at = i + 1;
		if (!e->leaves)
			arrive(s, e->wait);
		else if (schedule_is_open(s, e->wait))
			close_barrier(s, e->wait);
	}
}

static void join_barriers(struct maker *m)
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

/* A wait for devices can end when its commands have; else when all queues have ended what they
 * had. */
static void join_devices(struct maker *m, const struct schedule_wait *wait)
{
	struct schedule_activity *activity = &m->schedule->activities.items[wait->activity];
	uint64_t last_ns = join_commands(m, wait);
	bool is_known = last_ns != 0;

	for (size_t i = 0; i < m->schedule->spans.count && !is_known; i++) {
		const struct schedule_span *queue = &m->schedule->spans.items[i];
		if (m->run->lanes[queue->lane].kind != BRICK_LANE_QUEUE)
			continue;
		uint32_t ended = work_ended_by(m, queue, wait->leave_ns);
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

/* A queue's work between two times, and the last activity that ended; busy: it had more to do. */
struct queue_use {
	uint64_t work_ns;
	uint32_t last; /* RUN_NONE: nothing */
	bool busy;
};

static struct queue_use use_of_queue(const struct maker *m, const struct schedule_span *queue,
	uint64_t begin_ns, uint64_t end_ns)
{
	const struct schedule_activity *activities = m->schedule->activities.items + queue->first;
	struct queue_use use = {.last = RUN_NONE};
	size_t i = BISECT(k, 0, queue->count, activities[k].end_ns <= begin_ns);

	for (; i < queue->count && activities[i].begin_ns < end_ns; i++) {
		const struct schedule_activity *a = &activities[i];
		if (a->kind != SCHEDULE_WORK)
			continue;
		use.work_ns += (a->end_ns < end_ns ? a->end_ns : end_ns) -
			       (a->begin_ns > begin_ns ? a->begin_ns : begin_ns);
		use.busy |= a->end_ns > end_ns;
		if (a->end_ns <= end_ns)
			use.last = queue->first + (uint32_t)i;
	}
	return use;
}

/* Parts of the time for which a queue must have worked, if a thread is to have waited for it. */
enum { WORKED = 9, WORKED_OF = 10 };

/*
 * The recording does not tell why a thread stood still. If a queue of the process worked nearly all
 * that time, and had nothing left to do when the thread went on, the thread waited for it. Else
 * returns how long the busiest queue worked meanwhile.
 */
static uint64_t join_queues(struct maker *m, uint32_t number)
{
	struct schedule_activity *a = &m->schedule->activities.items[number];
	uint64_t last_ns = 0, most_ns = 0;

	for (size_t i = 0; i < m->schedule->spans.count; i++) {
		const struct schedule_span *queue = &m->schedule->spans.items[i];
		if (m->run->lanes[queue->lane].kind != BRICK_LANE_QUEUE)
			continue;
		struct queue_use use = use_of_queue(m, queue, a->begin_ns, a->end_ns);
		most_ns = use.work_ns > most_ns ? use.work_ns : most_ns;
		if (use.busy || use.last == RUN_NONE ||
			use.work_ns * WORKED_OF < (a->end_ns - a->begin_ns) * WORKED)
			continue;
		uint64_t ns = m->schedule->activities.items[use.last].end_ns;
		last_ns = ns > last_ns ? ns : last_ns;
		schedule_connect(m, use.last, number);
	}
	if (!last_ns)
		return most_ns;
	a->duration_ns = a->end_ns - last_ns;
	return 0;
}

/* Joins blocked times of the step's thread, or of all threads, with queues. */
static void join_blocked(struct maker *m)
{
	struct schedule *s = m->schedule;

	for (size_t k = 0; k < s->spans.count; k++) {
		const struct schedule_span *span = &s->spans.items[k];
		if (m->run->lanes[span->lane].kind != BRICK_LANE_THREAD ||
			(m->driver != RUN_NONE && span->lane != m->driver))
			continue;
		for (uint32_t i = span->first; i < span->first + span->count; i++) {
			struct schedule_activity *a = &s->activities.items[i];
			if (a->kind != SCHEDULE_OFF ||
				a->owner != m->run->brick_count + SCHEDULE_OWNER_BLOCKED)
				continue;
			s->counts.beneath_ns += join_queues(m, i);
			s->counts.queue_blocks += a->duration_ns != a->end_ns - a->begin_ns;
		}
	}
}

static void join_waits(struct maker *m)
{
	struct schedule_counts *counts = &m->schedule->counts;

	join_barriers(m);
	for (size_t i = 0; i < m->waits.count && !m->failed; i++) {
		const struct schedule_wait *wait = &m->waits.items[i];
		const struct schedule_activity *activity =
			&m->schedule->activities.items[wait->activity];
		if (wait->kind == WAIT_DEVICE)
			join_devices(m, wait);
		if (wait->kind == WAIT_OTHER && activity->cause == RUN_NONE &&
			m->run->lanes[activity->lane].kind == BRICK_LANE_THREAD) {
			uint64_t length_ns = activity->duration_ns;
			join_queues(m, wait->activity);
			if (activity->duration_ns != length_ns)
				m->schedule->activities.items[wait->activity].cause =
					wait->activity;
		}
		if (wait->leave_ns > m->end_ns && activity->cause == RUN_NONE)
			continue; /* for something after the window */
		counts->waits++;
		if (activity->cause != RUN_NONE)
			continue;
		counts->unknown_waits++;
		for (uint32_t k = wait->first; k <= wait->activity; k++) {
			const struct schedule_activity *part = &m->schedule->activities.items[k];
			counts->unknown_wait_ns +=
				part->kind == SCHEDULE_WAIT ? part->duration_ns : 0;
		}
	}
}

/* Adds `ns` more after the last part. */
static void schedule_add_part(
	struct maker *m, struct schedule_activity *part, uint64_t ns, uint32_t owner, uint8_t kind)
{
	part->begin_ns = part->end_ns;
	part->end_ns += ns;
	part->duration_ns = ns;
	part->owner = owner;
	part->kind = kind;
	schedule_add_activity(m, part);
}

/* Activities in the step's account after its end come one after the other. */
static void take_after(struct maker *m)
{
	const struct schedule_source *source = m->source;
	uint32_t step = m->schedule->step;

	for (uint32_t i = source->first[step]; i < source->first[step + 1]; i++) {
		const struct schedule_after_item *item = &source->items.items[i];
		if (m->has_tail && item->lane == m->driver && item->begin_ns < m->end_ns)
			continue; /* in the window */
		const struct run_site *site =
			&m->run->sites[m->run->lanes[item->lane].samples[item->sample].site];
		uint32_t bricks = (uint32_t)m->run->brick_count,
			 off = bricks + SCHEDULE_OWNER_PREEMPTED;
		enum brick_kind kind = m->index->kinds[site->brick];
		bool waits = kind == BRICK_KIND_WAIT;
		struct schedule_activity part = {.end_ns = item->begin_ns,
			.lane = item->lane,
			.sample = item->sample,
			.cause = RUN_NONE};
		uint64_t own_ns = item->own_ns - item->off.preempted_ns;
		if (item->off.preempted_ns + item->wait_preempted_ns)
			schedule_add_part(m, &part,
				item->off.preempted_ns + item->wait_preempted_ns, off,
				SCHEDULE_OFF);
		off = bricks + SCHEDULE_OWNER_BLOCKED;
		if (!waits && item->off.blocked_ns) {
			schedule_add_part(m, &part, item->off.blocked_ns, off, SCHEDULE_OFF);
			own_ns -= item->off.blocked_ns;
		}
		part.is_last = !item->is_part;
		if (kind != BRICK_KIND_STEP) /* else only its wait is here */
			schedule_add_part(m, &part, own_ns, schedule_owner_of(m->run, site),
				waits ? SCHEDULE_WAIT : SCHEDULE_WORK);
		if (item->wait_ns > item->wait_preempted_ns)
			schedule_add_part(m, &part, item->wait_ns - item->wait_preempted_ns,
				m->wait_owner, SCHEDULE_WAIT);
	}
}

static uint32_t schedule_add_point(struct maker *m, uint64_t ns)
{
	return schedule_add_activity(
		m, &(struct schedule_activity){.begin_ns = ns,
			   .end_ns = ns,
			   .owner = (uint32_t)m->run->brick_count + SCHEDULE_OWNER_REST,
			   .lane = RUN_NONE,
			   .sample = RUN_NONE,
			   .cause = RUN_NONE,
			   .kind = SCHEDULE_POINT});
}

/* The samples that begin within the window, and an earlier one that reaches into it. */
static void take_other_lane(struct maker *m, uint32_t lane)
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

/* True if a lane runs a step of its own in the window: it then works for that step. */
static bool has_own_step(const struct maker *m, uint32_t lane)
{
	uint32_t next = step_index_ended(m->index, m->run, lane, m->begin_ns);

	return next < m->index->lane_first[lane + 1] &&
	       m->run->steps[m->index->by_lane[next]].begin_ns < m->end_ns;
}

static void schedule_take_step(struct maker *m, const struct run_step *step)
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

/* The last fork within a time; NULL: there is none. The lane has no forks of its own. */
static const struct schedule_fork *fork_within(
	const struct maker *m, uint64_t begin_ns, uint64_t end_ns)
{
	const struct schedule_fork *forks = m->schedule->forks.items;
	size_t low = BISECT(i, 0, m->schedule->forks.count, forks[i].ns <= end_ns);

	return low && forks[low - 1].ns >= begin_ns ? &forks[low - 1] : NULL;
}

/* Activities of a lane in which it did nothing: [first, end). */
struct gap {
	uint32_t first, end;
};

static bool schedule_is_in_gap(const struct schedule_activity *a)
{
	return a->sample == RUN_NONE && (a->kind == SCHEDULE_REST || a->kind == SCHEDULE_OFF);
}

static struct gap gap_from(const struct maker *m, const struct schedule_span *lane, uint32_t first)
{
	uint32_t end = first;

	while (end < lane->first + lane->count &&
		schedule_is_in_gap(&m->schedule->activities.items[end]))
		end++;
	return (struct gap){first, end};
}

/*
 * Time without work on a thread may have ended because others' work began. Preempted time from then
 * on stands by itself.
 */
static void link_gap(struct maker *m, uint32_t source, struct gap gap)
{
	struct schedule_activity *items = m->schedule->activities.items;
	const struct schedule_fork *fork =
		fork_within(m, items[gap.first].begin_ns, items[gap.end - 1].end_ns);
	uint32_t i = gap.first;

	if (!fork) {
		m->schedule->counts.idle++;
		m->schedule->counts.idle_ns += items[gap.end - 1].end_ns - items[i].begin_ns;
		return;
	}
	for (; i + 1 < gap.end && items[i].end_ns <= fork->ns; i++)
		items[i].duration_ns = 0;
	items[i].duration_ns = items[i].end_ns - fork->ns;
	schedule_connect(m, fork->before == RUN_NONE ? source : fork->before, i);
	while (i + 1 < gap.end && items[i].kind == SCHEDULE_OFF)
		i++;
	if (items[i].kind == SCHEDULE_OFF)
		return;
	items[i].kind = SCHEDULE_START;
	items[i].cause = (uint32_t)(fork - m->schedule->forks.items);
	items[i].owner = (uint32_t)m->run->brick_count + SCHEDULE_OWNER_START;
	m->schedule->counts.starts++;
}

static void link_lane(
	struct maker *m, uint32_t source, const struct schedule_span *lane, bool drives)
{
	uint32_t before = source;
	bool may_idle = m->run->lanes[lane->lane].kind == BRICK_LANE_THREAD && !drives;
	uint32_t gap_end = lane->first;

	for (uint32_t i = lane->first; i < lane->first + lane->count; i++) {
		const struct schedule_activity *a = &m->schedule->activities.items[i];
		bool waits = a->kind == SCHEDULE_WAIT || a->kind == SCHEDULE_OFF;
		if (waits && a->cause != RUN_NONE && a->cause != i) {
			schedule_connect(m, before, a->cause);
			schedule_connect(m, a->cause, i);
		} else {
			schedule_connect(m, before, i);
		}
		if (may_idle && i >= gap_end && schedule_is_in_gap(a)) {
			struct gap gap = gap_from(m, lane, i);
			link_gap(m, source, gap);
			gap_end = gap.end;
		}
		before = i;
	}
}

/*
 * Connects each lane only with itself, with measured durations: when times contradict each other.
 */
static void link_apart(struct maker *m, uint32_t source)
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
 * True if a step ends after the work of another thread. The step waits for threads that it meets at
 * barriers, or, if it meets none, for all that worked during the step only.
 */
static bool is_joined(const struct maker *m, size_t span)
{
	uint32_t lane = m->schedule->spans.items[span].lane;

	if (!m->lanes.items[span].stays || m->run->lanes[lane].kind != BRICK_LANE_THREAD)
		return false;
	return m->lanes.items[span].meets_driver || !m->lanes.items[0].meets_driver;
}

/* All that must have ended before the window does. The step's own lane is the first. */
static void link_end(struct maker *m, uint32_t source, uint32_t end)
{
	for (size_t k = 0; k < m->schedule->spans.count; k++) {
		const struct schedule_span *span = &m->schedule->spans.items[k];
		uint32_t last = span->count ? span->first + span->count - 1 : source;
		if (m->driver != RUN_NONE && span->lane != m->driver)
			last = is_joined(m, k) ? work_ended_by(m, span, m->end_ns) : RUN_NONE;
		if (m->has_tail && m->run->lanes[span->lane].kind == BRICK_LANE_QUEUE)
			last = work_ended_by(m, span, m->end_ns);
		if (last != RUN_NONE)
			schedule_connect(m, last, end);
	}
	if (!m->schedule->spans.count)
		schedule_connect(m, source, end);
}

static void link_all(struct maker *m, uint32_t source, uint32_t end, bool apart)
{
	if (apart)
		link_apart(m, source);
	for (size_t k = 0; k < m->schedule->spans.count && !apart; k++)
		link_lane(m, source, &m->schedule->spans.items[k], m->lanes.items[k].drives);
	for (size_t i = 0; i < m->commands.count && !m->failed && !apart; i++)
		if (m->commands.items[i].first < m->schedule->activities.count)
			link_command(m, source, &m->commands.items[i]);
	link_end(m, source, end);
	for (uint32_t i = end + 1; i < m->schedule->activities.count; i++)
		schedule_connect(m, i - 1, i);
}

static int schedule_sort(struct maker *m)
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

/* Makes the order after the samples have been taken. */
static int schedule_finish(struct maker *m)
{
	struct schedule *s = m->schedule;

	array_sort(&s->forks, compare_forks);
	array_sort(&m->calls, schedule_by_place);
	join_waits(m);
	if (m->run->command_count)
		join_blocked(m);
	uint32_t source = schedule_add_point(m, m->begin_ns),
		 end = schedule_add_point(m, m->end_ns);
	s->after = (uint32_t)s->activities.count;
	if (s->step != RUN_NONE)
		take_after(m);
	s->end = (uint32_t)s->activities.count - 1;
	s->measured_ns = m->end_ns - m->begin_ns;
	for (uint32_t i = end + 1; !m->failed && i < s->activities.count; i++)
		s->measured_ns += s->activities.items[i].duration_ns;
	if (!m->failed)
		link_all(m, source, end, false);
	int error = schedule_sort(m);
	if (error == BRICK_ECYCLE) {
		link_all(m, source, end, true);
		error = schedule_sort(m);
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

static struct maker schedule_begin(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint64_t begin_ns,
	uint64_t end_ns)
{
	uint32_t wait = run_brick_find(run, brick_name(BRICK_BARRIER_WAIT));

	*schedule = (struct schedule){.run = run, .step = RUN_NONE, .begin_ns = begin_ns};
	return (struct maker){.schedule = schedule,
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
	struct maker m = schedule_begin(schedule, run, index, source, s->begin_ns,
		end_ns > s->begin_ns ? end_ns : s->begin_ns);

	m.has_tail = end_ns > s->end_ns;
	m.is_cut = m.has_tail && index->tails[step].device_ns > end_ns;
	schedule->step = step;
	schedule->process = run->lanes[s->lane].process;
	schedule_take_step(&m, s);
	return schedule_finish(&m);
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
	struct maker m = schedule_begin(schedule, run, index, source, begin_ns, UINT64_MAX);
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
	return schedule_finish(&m);
}

void schedule_fini(struct schedule *schedule)
{
	brick__dag_fini(&schedule->dag);
	array_fini(&schedule->activities);
	array_fini(&schedule->forks);
	array_fini(&schedule->spans);
	memset(schedule, 0, sizeof(*schedule));
}
