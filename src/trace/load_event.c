/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Track events of a lane: what they say of slices, instants and counters goes to the run in the
 * making.
 */
#include <stdlib.h>
#include "trace/load_event.h"

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

/* The site alone: it has its layer and the texts, too. */
static int parse_site(struct pb_reader message, struct load_event *e)
{
	struct pb_field f;
	int more;

	while ((more = pb_next(&message, &f)) > 0)
		if (f.number == FORMAT_S_SITE && f.wire == PB_VARINT) {
			e->present |= 1u << FORMAT_A_SITE;
			e->value[FORMAT_A_SITE] = f.value;
			e->described = 1;
		}
	return more == 0;
}

static int parse(const struct load_sequence *s, struct pb_reader message, struct load_event *e)
{
	struct pb_field f;
	int more;

	e->type = e->name = e->category = e->track_uuid = 0;
	e->present = e->flow_count = 0;
	e->described = 0;
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
		} else if (f.number == FORMAT_SITE_FIELD && f.wire == PB_LENGTH) {
			if (!parse_site(f.in, e))
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

/* The run's site for an event's, executed as `brick`. */
static uint32_t event_site(
	struct load *l, const struct load_sequence *s, uint32_t brick, const struct load_event *e)
{
	uint32_t at = load_iid_get(e->described ? &l->sites : &s->values, e->value[FORMAT_A_SITE]);

	if (at == RUN_NONE || l->values[at].kind != LOAD_VALUE_SITE)
		return RUN_NONE;
	struct load_value *value = &l->values[at];
	if (value->index == RUN_NONE || value->site.brick != brick) {
		value->site.brick = brick;
		value->index = build_site(&l->build, &value->site);
	}
	return value->index;
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
		{FORMAT_A_OUTPUT_TOKENS, BRICK_SITE_HAS_ELEMENTS,
			offsetof(struct run_site, output_tokens)},
	};

	if (LOAD_HAS(e, BYTES) || LOAD_HAS(e, FLOPS))
		site->flags &= ~(uint32_t)BRICK_SITE_AT_MOST;
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
		return event_site(l, s, brick, e);
	struct run_site site = {.brick = brick, .layer = -1};
	if (LOAD_HAS(e, LAYER))
		site.layer = (int32_t)e->value[FORMAT_A_LAYER];
	add_work(&site, e);
	return build_plain_site(&l->build, &site);
}

/* An end may say more of what was executed than its begin could. */
static void refine_site(struct load *l, struct load_sequence *s, struct run_sample *sample,
	const struct load_event *e)
{
	const struct run_site *old = &l->build.run->sites[sample->site];
	uint32_t index;

	if (LOAD_HAS(e, SITE)) {
		index = event_site(l, s, old->brick, e);
	} else {
		struct run_site site = *old;
		add_work(&site, e);
		index = site.operation || site.label ? build_site(&l->build, &site)
						     : build_plain_site(&l->build, &site);
	}
	if (index != RUN_NONE)
		sample->site = index;
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

static uint32_t brick_value(const struct load *l, const struct load_sequence *s, uint64_t iid)
{
	uint32_t at = load_iid_get(&s->values, iid);

	return at != RUN_NONE && l->values[at].kind == LOAD_VALUE_BRICK ? l->values[at].index
									: RUN_NONE;
}

static int begin(struct load *l, struct load_sequence *s, const struct load_event *e,
	struct build_slice *slice)
{
	struct build_lane *lane = s->lane;
	struct run_brick *bricks = l->build.run->bricks;
	uint32_t brick = load_iid_get(&s->names, e->name);

	if (!build_can_begin(lane))
		return 0;
	if (LOAD_HAS(e, BRICK)) /* the name is a kernel's */
		brick = brick_value(l, s, e->value[FORMAT_A_BRICK]);
	if (brick == RUN_NONE || brick & LOAD_OWN_NAME) {
		lane->too_deep++;
		return 0;
	}
	/* what says nothing may be a wait: its site is looked up when it is none */
	uint32_t site = e->present ? begin_site(l, s, brick, e) : RUN_NONE;
	if (site == RUN_NONE && e->present) {
		lane->too_deep++;
		return 0;
	}
	if (bricks[brick].category == RUN_NONE)
		bricks[brick].category = load_iid_get(&s->categories, e->category);
	int32_t known = bricks[brick].well_known;
	*slice = (struct build_slice){
		.brick = brick,
		.site = site,
		.source = source_of(l, s, e),
		.bare = !e->present,
		.step = brick_is_step((uint32_t)known),
	};
	if (!build_slice(lane, slice))
		return 0;
	if (__builtin_expect(!load_has_args(e), 1))
		return 2;
	if (!lane->in_wait)
		load_args(l, s, lane->stack[lane->depth - 1], e);
	return 1;
}

static void end_annotations(struct load *l, struct load_sequence *s, const struct load_event *e)
{
	struct run_sample *sample = build_sample(s->lane, s->lane->ended);

	if (LOAD_HAS(e, INNER))
		sample->inner_ns = build_saturate(e->value[FORMAT_A_INNER]);
	if (LOAD_HAS(e, CLAMPED))
		sample->flags |= RUN_SAMPLE_CLAMPED;
	if (LOAD_HAS(e, UNWOUND))
		sample->flags |= RUN_SAMPLE_UNWOUND;
	if (LOAD_HAS(e, OPEN)) {
		sample->flags |= RUN_SAMPLE_OPEN;
		l->build.run->open_samples++;
	}
	if (e->present & WORK_MASK)
		refine_site(l, s, sample, e);
	if (load_has_args(e))
		load_args(l, s, s->lane->ended, e);
}

static int end(struct load *l, struct load_sequence *s, const struct load_event *e,
	struct build_slice *slice)
{
	int was_wait = s->lane->in_wait;

	*slice = (struct build_slice){.is_end = 1};
	if (!build_slice(s->lane, slice))
		return 0;
	if (!e->present && !e->flow_count)
		return 2;
	if (!was_wait)
		end_annotations(l, s, e);
	return 1;
}

static int own_instant(
	struct load *l, struct load_sequence *s, uint32_t name, const struct load_event *e)
{
	struct build_lane *lane = s->lane;

	switch (name) {
	case FORMAT_N_DROPPED:
		return LOAD_HAS(e, COUNT) && build_point(s->lane, RUN_POINT_DROPPED, RUN_NONE,
						     (double)e->value[FORMAT_A_COUNT]);
	case FORMAT_N_THREAD:
		return LOAD_HAS(e, TID) && build_point(s->lane, RUN_POINT_THREAD, RUN_NONE,
						   (double)e->value[FORMAT_A_TID]);
	case FORMAT_N_WAITED:
		return 1; /* only others need it: the wait says for what it was */
	case FORMAT_N_LAUNCHED:
		if (!lane->depth)
			return 0;
		load_args(l, s, lane->stack[lane->depth - 1], e);
		return 1;
	default:
		if (lane->ended == RUN_NONE)
			return 0;
		if (e->present & WORK_MASK)
			refine_site(l, s, build_sample(lane, lane->ended), e);
		if (load_has_args(e))
			load_args(l, s, s->lane->ended, e);
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
	if (l->build.run->bricks[name].category == RUN_NONE)
		l->build.run->bricks[name].category = load_iid_get(&s->categories, e->category);
	if (!LOAD_HAS(e, REPORTED))
		return build_point(s->lane, RUN_POINT_INSTANT, name, 0);
	return e->value[FORMAT_A_REPORTED] <= INT64_MAX &&
	       build_point(s->lane, RUN_POINT_REPORTED, name, (double)e->value[FORMAT_A_REPORTED]);
}

/* A counter of a step was read some time behind what the lane said last, and stands elsewhere. */
static int counter(struct load *l, struct load_sequence *s, const struct load_event *e)
{
	uint64_t now = s->lane->now;
	int good = 0;

	for (size_t i = l->counter_count; i && !good; i--)
		if (l->counters[i - 1].uuid == e->track_uuid)
			good = load_advance(
				       s, LOAD_HAS(e, BEHIND) ? e->value[FORMAT_A_BEHIND] : 0) &&
			       build_point(s->lane, RUN_POINT_COUNTER, l->counters[i - 1].brick,
				       e->counter);
	build_seen(s->lane);
	s->lane->now = now;
	return good;
}

int load_lane_event(struct load *l, struct load_sequence *s, struct pb_reader message,
	struct build_slice *slice)
{
	struct load_event e;

	if (!parse(s, message, &e))
		return 0;
	build_seen(s->lane);
	if (e.type == EVENT_BEGIN)
		return begin(l, s, &e, slice);
	if (e.type == EVENT_END)
		return end(l, s, &e, slice);
	if (e.type == EVENT_INSTANT)
		return instant(l, s, &e);
	return e.type == EVENT_COUNTER && counter(l, s, &e);
}
