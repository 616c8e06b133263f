/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Track events of a lane: slices, instants and counters go to the run in the making, and so do
 * details of samples beyond their sites: commands of queues, the calls that launched them and the
 * waits for them, tiles. A lane has another sequence for when its threads were off their CPUs:
 * slices beside each other, each with nothing but its name.
 */
#include "trace/load_event.h"

#include <stdlib.h>
#include <string.h>
#include "format/format.h"
#include "trace/load_annotation.h"

enum { MAX_FLOWS = 32 }; /* of one event; further ones are not looked at */

/* A track event, taken apart. */
struct event {
	uint64_t type, name, category, track_uuid;
	double counter;
	uint64_t present; /* bit per enum format_annotation */
	bool described;	  /* the site's id is looked up in load_ids.sites, not in the sequence */
	uint32_t flow_count;
	struct pb_reader after; /* the annotation itself, when it is present */
	uint64_t value[64];	/* by enum format_annotation; valid where `present` has its bit */
	uint64_t flows[MAX_FLOWS];
};

#define HAS(e, name) ((e)->present >> FORMAT_A_##name & 1)

/* Annotations that read_args() reads. Their numbers must be below 32, as those of WORK_MASK. */
#define ARGS_MASK                                                                            \
	(1u << FORMAT_A_KERNEL | 1u << FORMAT_A_BRICK | 1u << FORMAT_A_CALL |                \
		1u << FORMAT_A_LAUNCHED | 1u << FORMAT_A_QUEUED | 1u << FORMAT_A_SUBMITTED | \
		1u << FORMAT_A_AFTER | 1u << FORMAT_A_ROW | 1u << FORMAT_A_COLUMN |          \
		1u << FORMAT_A_LEVEL)

static inline bool has_args(const struct event *e)
{
	return e->flow_count || e->present & ARGS_MASK;
}

static uint64_t flow_number(const struct build_lane *lane, const struct load_ids *l, uint64_t flow)
{
	uint32_t process = l->build->run->lanes[lane->number].process;
	uint64_t number = flow - l->build->processes.items[process].flow_base;

	return number >> FORMAT_FLOW_BITS ? 0 : number;
}

static void read_command(const struct load_ids *l, const struct load_sequence *s,
	const struct run_sample *sample, struct run_command *command, const struct event *e)
{
	uint32_t at = HAS(e, KERNEL) ? load_id(&s->values, e->value[FORMAT_A_KERNEL]) : RUN_NONE;
	uint32_t kernel = at != RUN_NONE && l->values.items[at].kind == LOAD_VALUE_KERNEL
				  ? l->values.items[at].index
				  : RUN_NONE;

	if (kernel != RUN_NONE)
		command->kernel = kernel;
	if (e->flow_count && !command->number)
		command->number = flow_number(s->lane, l, e->flows[0]);
	if (HAS(e, LAUNCHED))
		command->launch_ns = command->launch_end_ns =
			build_before(sample, e->value[FORMAT_A_LAUNCHED]);
	if (HAS(e, CALL) && command->launch_ns &&
		e->value[FORMAT_A_CALL] < UINT64_MAX - command->launch_ns)
		command->launch_end_ns = command->launch_ns + e->value[FORMAT_A_CALL];
	if (HAS(e, QUEUED))
		command->queued_ns = build_before(sample, e->value[FORMAT_A_QUEUED]);
	if (HAS(e, SUBMITTED))
		command->submitted_ns = build_before(sample, e->value[FORMAT_A_SUBMITTED]);
}

static void read_args(
	struct load_ids *l, struct load_sequence *s, uint32_t sample, const struct event *e)
{
	struct build_lane *lane = s->lane;
	bool is_queue = l->build->run->lanes[lane->number].kind == BRICK_LANE_QUEUE;
	bool is_command = HAS(e, KERNEL) || HAS(e, LAUNCHED) || HAS(e, QUEUED) ||
			  HAS(e, SUBMITTED) || e->flow_count;

	if (is_queue && is_command) {
		struct run_command *command = build_command(lane, sample);
		if (command)
			read_command(l, s, build_sample(lane, sample), command, e);
	} else if (!is_queue) {
		for (uint32_t i = 0; i < e->flow_count; i++)
			build_link(lane, sample, BUILD_LINK_LAUNCHED,
				flow_number(lane, l, e->flows[i]));
	}
	if (HAS(e, AFTER)) {
		struct pb_reader list = e->after;
		struct load_annotation item;
		while (load_next(&list, ANNOTATION_ARRAY, &item) > 0)
			build_link(lane, sample, BUILD_LINK_AFTER, item.value);
	}
	if (HAS(e, ROW) && HAS(e, COLUMN) && HAS(e, LEVEL)) {
		const struct run_tile tile = {.sample = sample,
			.level = (uint32_t)e->value[FORMAT_A_LEVEL],
			.row = (uint32_t)e->value[FORMAT_A_ROW],
			.column = (uint32_t)e->value[FORMAT_A_COLUMN]};
		if (e->value[FORMAT_A_LEVEL] <= UINT8_MAX && e->value[FORMAT_A_ROW] <= UINT32_MAX &&
			e->value[FORMAT_A_COLUMN] <= UINT32_MAX)
			build_tile(lane, &tile);
	}
}

/* Annotations that say how much work was done; they make up a site where none is interned. */
#define WORK_MASK                                                               \
	(1u << FORMAT_A_SITE | 1u << FORMAT_A_ELEMENTS | 1u << FORMAT_A_BYTES | \
		1u << FORMAT_A_FLOPS | 1u << FORMAT_A_TOKENS)

static bool parse_annotation(
	const struct load_sequence *s, struct pb_reader message, struct event *e)
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
	if (more || iid >= sizeof(s->annotations))
		return more == 0;
	e->present |= UINT64_C(1) << s->annotations[iid];
	e->value[s->annotations[iid]] = value;
	if (s->annotations[iid] == FORMAT_A_AFTER)
		e->after = whole;
	return true;
}

/* The site alone: it has its layer and the texts, too. */
static bool parse_site(struct pb_reader message, struct event *e)
{
	struct pb_field f;
	int more;

	while ((more = pb_next(&message, &f)) > 0)
		if (f.number == FORMAT_S_SITE && f.wire == PB_VARINT) {
			e->present |= UINT64_C(1) << FORMAT_A_SITE;
			e->value[FORMAT_A_SITE] = f.value;
			e->described = true;
		}
	return more == 0;
}

static bool load_event_parse(
	const struct load_sequence *s, struct pb_reader message, struct event *e)
{
	struct pb_field f;
	int more;

	e->type = e->name = e->category = e->track_uuid = 0;
	e->present = e->flow_count = 0;
	e->described = false;
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
				return false;
		} else if (f.number == FORMAT_SITE_FIELD && f.wire == PB_LENGTH) {
			if (!parse_site(f.in, e))
				return false;
		} else if (f.number == EVENT_DOUBLE_COUNTER && f.wire == PB_FIXED64) {
			e->counter = pb_double_value(f.value);
		} else if (f.number == EVENT_FLOWS && f.wire == PB_FIXED64) {
			if (e->flow_count < MAX_FLOWS)
				e->flows[e->flow_count++] = f.value;
		}
	}
	return more == 0;
}

/* The run's site for an event's, executed as `brick`. */
static uint32_t event_site(
	struct load_ids *l, const struct load_sequence *s, uint32_t brick, const struct event *e)
{
	uint32_t at = load_id(e->described ? &l->sites : &s->values, e->value[FORMAT_A_SITE]);

	if (at == RUN_NONE || l->values.items[at].kind != LOAD_VALUE_SITE)
		return RUN_NONE;
	struct load_value *value = &l->values.items[at];
	if (value->index == RUN_NONE || value->site.brick != brick) {
		value->site.brick = brick;
		value->index = build_site(l->build, &value->site);
	}
	return value->index;
}

static void load_event_add_work(struct run_site *site, const struct event *e)
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

	if (HAS(e, BYTES) || HAS(e, FLOPS))
		site->flags &= ~(uint32_t)BRICK_SITE_AT_MOST;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (e->present >> counts[i].annotation & 1) {
			site->flags |= counts[i].flag;
			*(uint64_t *)((char *)site + counts[i].offset) =
				e->value[counts[i].annotation];
		}
}

static uint32_t begin_site(
	struct load_ids *l, struct load_sequence *s, uint32_t brick, const struct event *e)
{
	if (HAS(e, SITE))
		return event_site(l, s, brick, e);
	struct run_site site = {.brick = brick, .layer = -1};
	if (HAS(e, LAYER))
		site.layer = (int32_t)e->value[FORMAT_A_LAYER];
	load_event_add_work(&site, e);
	return build_plain_site(l->build, &site);
}

/* An end may know more about the execution than its begin could. */
static void refine_site(struct load_ids *l, struct load_sequence *s, struct run_sample *sample,
	const struct event *e)
{
	const struct run_site *sites = l->build->run->sites;
	uint32_t index = sample->site;

	if (HAS(e, SITE)) {
		index = event_site(l, s, sites[index].brick, e);
		sites = l->build->run->sites;
	}
	if (index != RUN_NONE && (!HAS(e, SITE) || HAS(e, BYTES) || HAS(e, FLOPS))) {
		struct run_site site = sites[index];
		load_event_add_work(&site, e);
		index = site.operation || site.label ? build_site(l->build, &site)
						     : build_plain_site(l->build, &site);
	}
	if (index != RUN_NONE)
		sample->site = index;
}

static uint8_t load_event_source_of(
	const struct load_ids *l, const struct load_sequence *s, const struct event *e)
{
	if (__builtin_expect(!HAS(e, SOURCE), 1))
		return BRICK_SOURCE_TSC;
	uint32_t at = load_id(&s->values, e->value[FORMAT_A_SOURCE]);
	return at != RUN_NONE && l->values.items[at].kind == LOAD_VALUE_SOURCE
		       ? (uint8_t)l->values.items[at].source
		       : BRICK_SOURCE_UNKNOWN;
}

static uint32_t brick_value(const struct load_ids *l, const struct load_sequence *s, uint64_t iid)
{
	uint32_t at = load_id(&s->values, iid);

	return at != RUN_NONE && l->values.items[at].kind == LOAD_VALUE_BRICK
		       ? l->values.items[at].index
		       : RUN_NONE;
}

static enum load_event_result load_event_begin(struct load_ids *l, struct load_sequence *s,
	const struct event *e, struct build_slice *slice)
{
	struct build_lane *lane = s->lane;
	struct run_brick *bricks = l->build->run->bricks;
	uint32_t brick = load_id(&s->names, e->name);

	if (!build_can_begin(lane))
		return LOAD_EVENT_BAD;
	if (HAS(e, BRICK)) /* the name is a kernel's */
		brick = brick_value(l, s, e->value[FORMAT_A_BRICK]);
	if (brick == RUN_NONE || brick & LOAD_OWN_NAME) {
		lane->too_deep++;
		return LOAD_EVENT_BAD;
	}
	/* a slice without annotations may be a wait: its site is looked up when it is none */
	uint32_t site = e->present ? begin_site(l, s, brick, e) : RUN_NONE;
	if (site == RUN_NONE && e->present) {
		lane->too_deep++;
		return LOAD_EVENT_BAD;
	}
	if (bricks[brick].category == RUN_NONE)
		bricks[brick].category = load_id(&s->categories, e->category);
	int32_t known = bricks[brick].well_known;
	*slice = (struct build_slice){
		.brick = brick,
		.site = site,
		.source = load_event_source_of(l, s, e),
		.bare = !e->present,
		.step = brick_is_step((uint32_t)known),
	};
	if (!build_slice(lane, slice))
		return LOAD_EVENT_BAD;
	if (__builtin_expect(!has_args(e), 1))
		return LOAD_EVENT_PLAIN;
	if (!lane->in_wait)
		read_args(l, s, lane->stack[lane->depth - 1], e);
	return LOAD_EVENT_USED;
}

static enum load_event_result load_event_end(struct load_ids *l, struct load_sequence *s,
	const struct event *e, struct build_slice *slice)
{
	bool was_wait = s->lane->in_wait;

	*slice = (struct build_slice){.is_end = true};
	if (!build_slice(s->lane, slice))
		return LOAD_EVENT_BAD;
	if (!e->present && !e->flow_count)
		return LOAD_EVENT_PLAIN;
	if (!was_wait) {
		struct run_sample *sample = build_sample(s->lane, s->lane->ended);
		if (HAS(e, INNER))
			sample->inner_ns = build_saturate(e->value[FORMAT_A_INNER]);
		if (HAS(e, CLAMPED))
			sample->flags |= RUN_SAMPLE_CLAMPED;
		if (HAS(e, UNWOUND))
			sample->flags |= RUN_SAMPLE_UNWOUND;
		if (HAS(e, OPEN)) {
			sample->flags |= RUN_SAMPLE_OPEN;
			l->build->run->open_samples++;
		}
		if (e->present & WORK_MASK)
			refine_site(l, s, sample, e);
		if (has_args(e))
			read_args(l, s, s->lane->ended, e);
	}
	return LOAD_EVENT_USED;
}

static uint32_t uint_or(const struct event *e, enum format_annotation name)
{
	return e->present >> name & 1 && e->value[name] <= UINT32_MAX ? (uint32_t)e->value[name]
								      : 0;
}

/* -1: it does not say. */
static int32_t int_of(const struct event *e, enum format_annotation name)
{
	int64_t value = e->present >> name & 1 ? (int64_t)e->value[name] : -1;

	return value < INT32_MIN || value > INT32_MAX ? -1 : (int32_t)value;
}

static bool sequence_event(
	struct build_lane *lane, enum brick_sequence_event kind, const struct event *e)
{
	bool of_tokens = kind == BRICK_SEQUENCE_TOKENS;
	uint32_t tokens = uint_or(e, FORMAT_A_TOKENS), prompt = uint_or(e, FORMAT_A_PROMPT);
	const struct run_sequence_event event = {
		.sequence = int_of(e, FORMAT_A_SEQUENCE),
		.event = (uint8_t)kind,
		.model = HAS(e, MODEL) ? (uint16_t)e->value[FORMAT_A_MODEL]
				       : BRICK_SEQUENCE_NO_MODEL,
		.tokens = tokens,
		.prompt = prompt < tokens ? prompt : tokens,
		.other = HAS(e, OTHER) ? int_of(e, FORMAT_A_OTHER) : 0,
		.position = int_of(e, FORMAT_A_POSITION),
		.end = of_tokens ? (int32_t)uint_or(e, FORMAT_A_RESULTS)
				 : int_of(e, FORMAT_A_POSITIONS_END),
		.number = HAS(e, NUMBER) ? e->value[FORMAT_A_NUMBER] : 0,
	};

	return build_sequence_event(lane, &event);
}

static bool expert_event(struct build_lane *lane, const struct event *e)
{
	const struct run_expert expert = {.expert = int_of(e, FORMAT_A_EXPERT),
		.tokens = uint_or(e, FORMAT_A_TOKENS),
		.experts = uint_or(e, FORMAT_A_EXPERTS),
		.bytes = HAS(e, BYTES) ? e->value[FORMAT_A_BYTES] : 0};

	return expert.expert >= BRICK_EXPERT_SAME && expert.experts <= UINT16_MAX &&
	       expert.expert < (int32_t)expert.experts && build_expert(lane, &expert);
}

static bool memory_event(struct load_ids *l, const struct load_sequence *s, const struct event *e)
{
	struct run_memory memory = {.kind = uint_or(e, FORMAT_A_MEMORY),
		.gpu = uint_or(e, FORMAT_A_GPU),
		.site = RUN_NONE,
		.is_of_site = HAS(e, SITE),
		.live_bytes = HAS(e, LIVE) ? e->value[FORMAT_A_LIVE] : 0,
		.peak_bytes = HAS(e, PEAK) ? e->value[FORMAT_A_PEAK] : 0};
	uint32_t at = memory.is_of_site ? load_id(&l->sites, e->value[FORMAT_A_SITE]) : RUN_NONE;

	if (at != RUN_NONE && l->values.items[at].kind == LOAD_VALUE_SITE) {
		struct load_value *value = &l->values.items[at];
		const char *name = value->site.operation;
		/* it was never executed: weights */
		uint32_t brick = value->index == RUN_NONE && name
					 ? build_brick(l->build, name, strlen(name))
					 : RUN_NONE;
		memory.site = brick != RUN_NONE ? event_site(l, s, brick, e) : value->index;
	}
	return memory.kind < BRICK_MEMORY_KINDS && build_memory(s->lane, &memory);
}

static bool message_event(
	struct build_lane *lane, enum brick_message_event kind, const struct event *e)
{
	bool is_any = kind == BRICK_MESSAGE_RECEIVED_ANY;
	const struct run_message message = {.event = is_any ? BRICK_MESSAGE_RECEIVED : kind,
		.is_uncertain = is_any,
		.peer = int_of(e, FORMAT_A_PEER),
		.tag = HAS(e, TAG) ? int_of(e, FORMAT_A_TAG) : 0,
		.communicator = uint_or(e, FORMAT_A_COMMUNICATOR),
		.number = uint_or(e, FORMAT_A_NUMBER),
		.bytes = HAS(e, BYTES) ? e->value[FORMAT_A_BYTES] : 0};

	return message.peer >= BRICK_MESSAGE_NO_PEER && build_message(lane, &message);
}

static bool own_instant(
	struct load_ids *l, struct load_sequence *s, uint32_t name, const struct event *e)
{
	struct build_lane *lane = s->lane;

	if (name == FORMAT_N_EXPERT)
		return expert_event(lane, e);
	if (name == FORMAT_N_MEMORY)
		return memory_event(l, s, e);
	if (name >= FORMAT_N_MESSAGE && name < FORMAT_N_MESSAGE_END)
		return message_event(lane, (enum brick_message_event)(name - FORMAT_N_MESSAGE), e);
	if (name >= FORMAT_N_SEQUENCE_END)
		return true; /* a newer Brick's */
	if (name >= FORMAT_N_SEQUENCE)
		return sequence_event(
			lane, (enum brick_sequence_event)(name - FORMAT_N_SEQUENCE), e);
	switch (name) {
	case FORMAT_N_DROPPED:
		return HAS(e, COUNT) && build_point(s->lane, RUN_POINT_DROPPED, RUN_NONE,
						(double)e->value[FORMAT_A_COUNT]);
	case FORMAT_N_THREAD:
		return HAS(e, TID) && build_point(s->lane, RUN_POINT_THREAD, RUN_NONE,
					      (double)e->value[FORMAT_A_TID]);
	case FORMAT_N_WAITED:
		return true; /* only other samples need it: a wait names its command */
	case FORMAT_N_LAUNCHED:
		if (!lane->depth)
			return false;
		read_args(l, s, lane->stack[lane->depth - 1], e);
		return true;
	default:
		if (lane->ended == RUN_NONE)
			return false;
		if (e->present & WORK_MASK)
			refine_site(l, s, build_sample(lane, lane->ended), e);
		if (has_args(e))
			read_args(l, s, s->lane->ended, e);
		return true;
	}
}

static bool load_event_instant(struct load_ids *l, struct load_sequence *s, const struct event *e)
{
	uint32_t name = load_id(&s->names, e->name);

	if (name == RUN_NONE)
		return false;
	if (name & LOAD_OWN_NAME)
		return own_instant(l, s, name & ~LOAD_OWN_NAME, e);
	if (l->build->run->bricks[name].category == RUN_NONE)
		l->build->run->bricks[name].category = load_id(&s->categories, e->category);
	if (!HAS(e, REPORTED))
		return build_point(s->lane, RUN_POINT_INSTANT, name, 0);
	return e->value[FORMAT_A_REPORTED] <= INT64_MAX &&
	       build_point(s->lane, RUN_POINT_REPORTED, name, (double)e->value[FORMAT_A_REPORTED]);
}

/* A counter of a step was read some time after the lane's last event, and stands elsewhere. */
static bool counter(struct load_ids *l, struct load_sequence *s, const struct event *e)
{
	uint64_t now = s->lane->now;
	bool good = false;

	for (size_t i = l->counters.count; i && !good; i--)
		if (l->counters.items[i - 1].uuid == e->track_uuid)
			good = load_advance(s, HAS(e, BEHIND) ? e->value[FORMAT_A_BEHIND] : 0) &&
			       build_point(s->lane, RUN_POINT_COUNTER,
				       l->counters.items[i - 1].brick, e->counter);
	build_seen(s->lane);
	s->lane->now = now;
	return good;
}

enum load_event_result load_lane_event(struct load_ids *l, struct load_sequence *s,
	struct pb_reader message, struct build_slice *slice)
{
	struct event e;

	if (!load_event_parse(s, message, &e))
		return LOAD_EVENT_BAD;
	build_seen(s->lane);
	if (e.type == EVENT_BEGIN)
		return load_event_begin(l, s, &e, slice);
	if (e.type == EVENT_END)
		return load_event_end(l, s, &e, slice);
	if (e.type == EVENT_INSTANT)
		return load_event_instant(l, s, &e) ? LOAD_EVENT_USED : LOAD_EVENT_BAD;
	return e.type == EVENT_COUNTER && counter(l, s, &e) ? LOAD_EVENT_USED : LOAD_EVENT_BAD;
}

/* The type of an event and the name that it has, 0: none. 0: malformed. */
static bool parse_off_cpu(struct pb_reader event, uint64_t *type, uint64_t *name)
{
	struct pb_field f;
	int more;

	*type = *name = 0;
	while ((more = pb_next(&event, &f)) > 0) {
		if (f.number == EVENT_TYPE && f.wire == PB_VARINT)
			*type = f.value;
		else if (f.number == EVENT_NAME_IID && f.wire == PB_VARINT)
			*name = f.value;
	}
	return more == 0;
}

bool load_off_cpu_event(struct load_sequence *s, struct pb_reader event)
{
	struct load_off_cpu *o = &s->off_cpu;
	uint64_t type, iid;

	if (!parse_off_cpu(event, &type, &iid))
		return false;
	if (type == EVENT_BEGIN) {
		uint32_t name = load_id(&s->names, iid);
		bool known = name == (LOAD_OWN_NAME | FORMAT_N_BLOCKED) ||
			     name == (LOAD_OWN_NAME | FORMAT_N_PREEMPTED);
		o->name = known ? name : 0;
		o->begin_ns = o->now;
		return known;
	}
	uint32_t name = o->name;
	o->name = 0;
	if (type != EVENT_END || !name)
		return false;
	return build_off_cpu(
		o->lane, o->begin_ns, o->now, name == (LOAD_OWN_NAME | FORMAT_N_PREEMPTED));
}
