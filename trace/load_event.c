/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Track events of a lane: slices become samples, in the order in which they began; the wait that
 * follows a sample becomes part of it; instants and counters become points. Ten million of them
 * must take less than a second, so that nothing here allocates but the arrays' growth.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_state.h"

enum { LEAST_SAMPLES = 1024 };

/* What says how much work was done: it makes up the site of a sample without an interned one. */
#define WORK_MASK                                                               \
	(1u << FORMAT_A_SITE | 1u << FORMAT_A_ELEMENTS | 1u << FORMAT_A_BYTES | \
		1u << FORMAT_A_FLOPS | 1u << FORMAT_A_TOKENS)

static int parse_annotation(
	const struct load_sequence *s, struct pb_reader message, struct load_event *e)
{
	const struct pb_reader whole = message;
	struct pb_field f;
	uint64_t iid = 0, value = 0;
	int more;

	while ((more = pb_next(&message, &f)) > 0) {
		if (f.wire != PB_VARINT)
			continue;
		if (f.number == ANNOTATION_NAME_IID)
			iid = f.value;
		else
			value = f.value;
	}
	if (more || iid >= sizeof s->annotations)
		return more == 0;
	e->present |= 1u << s->annotations[iid];
	e->value[s->annotations[iid]] = value;
	if (s->annotations[iid] == FORMAT_A_AFTER)
		e->after = whole;
	return 1;
}

static int parse(const struct load_sequence *s, struct pb_reader message, struct load_event *e)
{
	struct pb_field f;
	int more;

	e->type = e->name = e->category = e->track_uuid = 0;
	e->present = e->flow_count = 0;
	while ((more = pb_next(&message, &f)) > 0) {
		if (f.wire == PB_VARINT) {
			if (f.number == EVENT_TYPE)
				e->type = f.value;
			else if (f.number == EVENT_NAME_IID)
				e->name = f.value;
			else if (f.number == EVENT_CATEGORY_IIDS)
				e->category = f.value;
			else if (f.number == EVENT_TRACK_UUID)
				e->track_uuid = f.value;
		} else if (f.number == EVENT_ANNOTATIONS && f.wire == PB_LENGTH) {
			if (!parse_annotation(s, f.in, e))
				return 0;
		} else if (f.number == EVENT_DOUBLE_COUNTER && f.wire == PB_FIXED64) {
			e->counter = pb_double_value(f.value);
		} else if (f.number == EVENT_FLOWS && f.wire == PB_FIXED64) {
			if (e->flow_count < LOAD_MAX_FLOWS)
				e->flows[e->flow_count++] = f.value;
		}
	}
	return more == 0;
}

/* The run's site for an interned value executed as `brick`. */
static uint32_t interned_site(struct load *l, struct load_sequence *s, uint32_t brick, uint64_t iid)
{
	uint32_t at = load_iid_get(&s->values, iid);

	if (at == RUN_NONE || l->values[at].kind != LOAD_VALUE_SITE)
		return RUN_NONE;
	struct load_value *value = &l->values[at];
	if (value->index == RUN_NONE || value->site.brick != brick) {
		value->site.brick = brick;
		value->index = load_site(l, &value->site);
	}
	return value->index;
}

static int same_counts(const struct run_site *a, const struct run_site *b)
{
	return a->layer == b->layer && a->flags == b->flags && a->elements == b->elements &&
	       a->bytes == b->bytes && a->flops == b->flops && !a->operation && !a->label;
}

static uint32_t plain_site(struct load *l, const struct run_site *site)
{
	uint32_t *last = &l->plain_sites[site->brick];

	if (*last == RUN_NONE || !same_counts(&l->run->sites[*last], site))
		*last = load_site(l, site);
	return *last;
}

static void add_work(struct run_site *site, const struct load_event *e)
{
	static const struct {
		uint8_t annotation, flag;
		uint16_t offset;
	} counts[] = {
		{FORMAT_A_ELEMENTS, BRICK_SITE_HAS_ELEMENTS, offsetof(struct run_site, elements)},
		{FORMAT_A_TOKENS, BRICK_SITE_HAS_ELEMENTS, offsetof(struct run_site, elements)},
		{FORMAT_A_BYTES, BRICK_SITE_HAS_BYTES, offsetof(struct run_site, bytes)},
		{FORMAT_A_FLOPS, BRICK_SITE_HAS_FLOPS, offsetof(struct run_site, flops)},
	};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (e->present >> counts[i].annotation & 1) {
			site->flags |= counts[i].flag;
			*(uint64_t *)((char *)site + counts[i].offset) =
				e->value[counts[i].annotation];
		}
}

static uint32_t begin_site(
	struct load *l, struct load_sequence *s, uint32_t brick, const struct load_event *e)
{
	if (LOAD_HAS(e, SITE))
		return interned_site(l, s, brick, e->value[FORMAT_A_SITE]);
	struct run_site site = {.brick = brick, .layer = -1};
	if (LOAD_HAS(e, LAYER))
		site.layer = (int32_t)e->value[FORMAT_A_LAYER];
	add_work(&site, e);
	return plain_site(l, &site);
}

/* An end may say more of what was executed than its begin could. */
static void refine_site(struct load *l, struct load_sequence *s, struct run_sample *sample,
	const struct load_event *e)
{
	const struct run_site *old = &l->run->sites[sample->site];
	uint32_t index;

	if (LOAD_HAS(e, SITE)) {
		index = interned_site(l, s, old->brick, e->value[FORMAT_A_SITE]);
	} else {
		struct run_site site = *old;
		add_work(&site, e);
		index = site.operation || site.label ? load_site(l, &site) : plain_site(l, &site);
	}
	if (index != RUN_NONE)
		sample->site = index;
}

static int grow_samples(struct load *l, struct run_lane *lane, struct load_lane *room)
{
	size_t count =
		room->sample_room ? room->sample_room + room->sample_room / 2 : LEAST_SAMPLES;
	struct run_sample *samples =
		count <= RUN_NONE ? realloc(lane->samples, count * sizeof *samples) : NULL;

	if (!samples)
		return load_no_memory(l), 0;
	lane->samples = samples;
	room->sample_room = count;
	return 1;
}

static uint32_t saturate(uint64_t ns)
{
	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static uint8_t source_of(
	const struct load *l, const struct load_sequence *s, const struct load_event *e)
{
	if (__builtin_expect(!LOAD_HAS(e, SOURCE), 1))
		return BRICK_SOURCE_TSC;
	uint32_t at = load_iid_get(&s->values, e->value[FORMAT_A_SOURCE]);
	return at != RUN_NONE && l->values[at].kind == LOAD_VALUE_SOURCE
		       ? (uint8_t)l->values[at].source
		       : BRICK_SOURCE_UNKNOWN;
}

/* The wait right behind the sample that has just ended is told from others by saying nothing. */
static inline int is_its_wait(const struct load *l, const struct load_sequence *s,
	const struct run_lane *lane, const struct load_slice *slice)
{
	return slice->brick == l->wait_brick && slice->bare && s->ended != RUN_NONE &&
	       lane->samples[s->ended].end_ns == s->now;
}

static __attribute__((noinline)) uint32_t bare_site(struct load *l, uint32_t brick)
{
	const struct run_site site = {.brick = brick, .layer = -1};

	return plain_site(l, &site);
}

/* Only where it is, for now: the rest is known when it has ended. */
static __attribute__((noinline)) void add_step(struct load *l, uint32_t lane, size_t sample)
{
	struct run *run = l->run;

	if (load_grow(l, &run->steps, &l->room.steps, run->step_count, sizeof *run->steps))
		run->steps[run->step_count++] =
			(struct run_step){.lane = lane, .sample = (uint32_t)sample};
}

static inline int begin_slice(
	struct load *l, struct load_sequence *s, const struct load_slice *slice)
{
	struct run_lane *lane = &l->run->lanes[s->lane];
	struct load_lane *room = &l->lanes[s->lane];

	if (is_its_wait(l, s, lane, slice)) {
		s->in_wait = 1;
		s->wait_begin = s->now;
		return 1;
	}
	uint32_t site = slice->site != RUN_NONE ? slice->site : bare_site(l, slice->brick);
	if (site == RUN_NONE) {
		s->too_deep++;
		return 0;
	}
	if (lane->sample_count == room->sample_room && !grow_samples(l, lane, room)) {
		s->too_deep++;
		return 0;
	}
	lane->samples[lane->sample_count] = (struct run_sample){
		.begin_ns = s->now,
		.site = site,
		.depth = (uint8_t)s->depth,
		.source = slice->source,
		.flags = RUN_SAMPLE_OPEN,
	};
	if (__builtin_expect(slice->step, 0))
		add_step(l, s->lane, lane->sample_count);
	s->stack[s->depth++] = (uint32_t)lane->sample_count++;
	s->ended = RUN_NONE;
	return 1;
}

static inline int end_slice(struct load *l, struct load_sequence *s)
{
	struct run_lane *lane = &l->run->lanes[s->lane];

	if (s->in_wait) {
		uint32_t *wait = &lane->samples[s->ended].wait_ns;
		*wait = saturate(*wait + (s->now - s->wait_begin));
		s->in_wait = 0;
		return 1;
	}
	s->ended = s->stack[--s->depth];
	lane->samples[s->ended].end_ns = s->now;
	lane->samples[s->ended].flags = 0;
	return 1;
}

/* A begin that cannot be used is left out together with its end, and with all that is inside. */
static inline int can_begin(struct load_sequence *s)
{
	if (__builtin_expect(!s->too_deep && !s->in_wait && s->depth < LOAD_MAX_DEPTH, 1))
		return 1;
	s->too_deep++;
	return 0;
}

static inline int can_end(struct load_sequence *s)
{
	if (__builtin_expect(!s->too_deep && (s->in_wait || s->depth), 1))
		return 1;
	s->too_deep -= s->too_deep > 0;
	return 0;
}

int load_slice(struct load *l, struct load_sequence *s, const struct load_slice *slice)
{
	if (s->now > l->lanes[s->lane].last_ns)
		l->lanes[s->lane].last_ns = s->now;
	return slice->is_end ? can_end(s) && end_slice(l, s)
			     : can_begin(s) && begin_slice(l, s, slice);
}

static uint32_t brick_value(const struct load *l, const struct load_sequence *s, uint64_t iid)
{
	uint32_t at = load_iid_get(&s->values, iid);

	return at != RUN_NONE && l->values[at].kind == LOAD_VALUE_BRICK ? l->values[at].index
									: RUN_NONE;
}

static int begin(struct load *l, struct load_sequence *s, const struct load_event *e,
	struct load_slice *slice)
{
	uint32_t brick = load_iid_get(&s->names, e->name);

	if (!can_begin(s))
		return 0;
	if (LOAD_HAS(e, BRICK)) /* the name is a kernel's */
		brick = brick_value(l, s, e->value[FORMAT_A_BRICK]);
	if (brick == RUN_NONE || brick & LOAD_OWN_NAME) {
		s->too_deep++;
		return 0;
	}
	/* what says nothing may be a wait: its site is looked up when it is none */
	uint32_t site = e->present ? begin_site(l, s, brick, e) : RUN_NONE;
	if (site == RUN_NONE && e->present) {
		s->too_deep++;
		return 0;
	}
	if (l->run->bricks[brick].category == RUN_NONE)
		l->run->bricks[brick].category = load_iid_get(&s->categories, e->category);
	int32_t known = l->run->bricks[brick].well_known;
	*slice = (struct load_slice){
		.brick = brick,
		.site = site,
		.source = source_of(l, s, e),
		.bare = !e->present,
		.step = known == BRICK_PREFILL || known == BRICK_DECODE,
	};
	if (!begin_slice(l, s, slice))
		return 0;
	if (__builtin_expect(!load_has_more(e), 1))
		return 2;
	if (!s->in_wait)
		load_more(l, s, s->stack[s->depth - 1], e);
	return 1;
}

static void end_annotations(struct load *l, struct load_sequence *s, const struct load_event *e)
{
	struct run_sample *sample = &l->run->lanes[s->lane].samples[s->ended];

	if (LOAD_HAS(e, INNER))
		sample->inner_ns = saturate(e->value[FORMAT_A_INNER]);
	if (LOAD_HAS(e, CLAMPED))
		sample->flags |= RUN_SAMPLE_CLAMPED;
	if (LOAD_HAS(e, UNWOUND))
		sample->flags |= RUN_SAMPLE_UNWOUND;
	if (LOAD_HAS(e, OPEN)) {
		sample->flags |= RUN_SAMPLE_OPEN;
		l->run->open_samples++;
	}
	if (e->present & WORK_MASK)
		refine_site(l, s, sample, e);
	if (load_has_more(e))
		load_more(l, s, s->ended, e);
}

static int end(struct load *l, struct load_sequence *s, const struct load_event *e,
	struct load_slice *slice)
{
	if (!can_end(s))
		return 0;
	int was_wait = s->in_wait;
	*slice = (struct load_slice){.is_end = 1};
	end_slice(l, s);
	if (!e->present && !e->flow_count)
		return 2;
	if (!was_wait)
		end_annotations(l, s, e);
	return 1;
}

static int add_point(struct load *l, const struct load_sequence *s, enum run_point_kind kind,
	uint32_t brick, double value)
{
	struct run *run = l->run;

	if (!load_grow(l, &run->points, &l->room.points, run->point_count, sizeof *run->points))
		return 0;
	run->points[run->point_count++] = (struct run_point){
		.ns = s->now, .lane = s->lane, .kind = kind, .brick = brick, .value = value};
	return 1;
}

static int own_instant(
	struct load *l, struct load_sequence *s, uint32_t name, const struct load_event *e)
{
	struct run_lane *lane = &l->run->lanes[s->lane];

	switch (name) {
	case FORMAT_N_DROPPED:
		return LOAD_HAS(e, COUNT) && add_point(l, s, RUN_POINT_DROPPED, RUN_NONE,
						     (double)e->value[FORMAT_A_COUNT]);
	case FORMAT_N_THREAD:
		return LOAD_HAS(e, TID) &&
		       add_point(l, s, RUN_POINT_THREAD, RUN_NONE, (double)e->value[FORMAT_A_TID]);
	default:
		if (s->ended == RUN_NONE)
			return 0;
		if (e->present & WORK_MASK)
			refine_site(l, s, &lane->samples[s->ended], e);
		if (load_has_more(e))
			load_more(l, s, s->ended, e);
		return 1;
	}
}

static int instant(struct load *l, struct load_sequence *s, const struct load_event *e)
{
	uint32_t name = load_iid_get(&s->names, e->name);

	if (name == RUN_NONE)
		return 0;
	if (name & LOAD_OWN_NAME)
		return own_instant(l, s, name & ~LOAD_OWN_NAME, e);
	if (l->run->bricks[name].category == RUN_NONE)
		l->run->bricks[name].category = load_iid_get(&s->categories, e->category);
	if (!LOAD_HAS(e, REPORTED))
		return add_point(l, s, RUN_POINT_INSTANT, name, 0);
	return e->value[FORMAT_A_REPORTED] <= INT64_MAX &&
	       add_point(l, s, RUN_POINT_REPORTED, name, (double)e->value[FORMAT_A_REPORTED]);
}

static int counter(struct load *l, struct load_sequence *s, const struct load_event *e)
{
	for (size_t i = l->counter_count; i; i--)
		if (l->counters[i - 1].uuid == e->track_uuid)
			return add_point(
				l, s, RUN_POINT_COUNTER, l->counters[i - 1].brick, e->counter);
	return 0;
}

int load_lane_event(
	struct load *l, struct load_sequence *s, struct pb_reader message, struct load_slice *slice)
{
	struct load_event e;

	if (!parse(s, message, &e))
		return 0;
	if (s->now > l->lanes[s->lane].last_ns)
		l->lanes[s->lane].last_ns = s->now;
	if (e.type == EVENT_BEGIN)
		return begin(l, s, &e, slice);
	if (e.type == EVENT_END)
		return end(l, s, &e, slice);
	if (e.type == EVENT_INSTANT)
		return instant(l, s, &e);
	return e.type == EVENT_COUNTER && counter(l, s, &e);
}
