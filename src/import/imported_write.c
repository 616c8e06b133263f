/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a recording of what was imported. Threads are laid out before queues, because calls on
 * threads tell which events launched a queue's commands. The events of a track come in the order of
 * their begins. A thread is one lane: where two events cross, the less important one is cut, so
 * that every ns of the thread counts once. Commands share a lane only if they do not overlap. Each
 * lane gets the records and statistics that a session would have had.
 */
#include "import/imported.h"

#include <stdio.h>
#include <string.h>
#include "brick/error.h"
#include "brick/queue.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "import/imported_steps.h"

enum {
	BASE_NS = 1000000000, /* time at which the recording begins: in records 0 means not known */
	MOST_LANES = 64,      /* of one queue's track */
	MOST_RECORDS = 4096,  /* of a lane that are kept before they are written */
	PYTHON_DEPTH = 104,   /* deeper frames of Python are left out: operators need room */
	ROUNDING_NS =
		2000, /* in files in us, a nested event may end later than its parent by this */
};

/* An event that is open on a lane. */
struct frame {
	struct imported_event *event;
	struct imported_name name;
	uint64_t child; /* ns of the events directly inside */
	bool is_opened; /* its OPEN is written */
};

struct layout_lane {
	ARRAY(struct brick_record) records;    /* not yet written */
	ARRAY(struct imported_event *) pieces; /* rests of cut events, the latest begin first */
	struct frame frames[BRICK_MAX_DEPTH];
	uint16_t on_stack[BRICK_MAX_BRICKS]; /* open events by brick */
	uint32_t depth;			     /* of `frames` */
	uint32_t number;		     /* of the lane in its process, from 0 */
	int sink;			     /* its number in the recording */
	struct brick_lane state;
};

/* The end of a command. */
struct command_end {
	uint64_t ns;
	uint32_t number;
};

struct layout {
	struct imported *im;
	struct trace_writer *writer;
	ARRAY(struct layout_lane *) lanes;  /* of `track` */
	const struct imported_track *track; /* that is being laid out */
	uint32_t *lane_counts;		    /* by process */
	bool *has_open;			    /* by process */
	uint64_t first, last;		    /* ns of the file */
	uint64_t placed;		    /* events */
	ARRAY(struct imported_event *) cut; /* owned: the events for the rests of cut events */
	ARRAY(struct command_end) ends;	    /* of commands, in their order */
	int error;
};

static uint64_t at(const struct layout *l, uint64_t ns)
{
	return ns - l->first + BASE_NS;
}

static int imported_write_tables(struct layout *l, int process)
{
	const struct sink_tables tables = {.bricks = l->im->bricks,
		.brick_count = l->im->brick_count,
		.categories = l->im->categories,
		.category_count = l->im->category_count,
		.sites = l->im->sites.items,
		.site_count = (uint32_t)l->im->sites.count,
		.kernels = l->im->kernels.items,
		.kernel_count = (uint32_t)l->im->kernels.count};

	return sink_tables(l->writer, process, &tables);
}

/* Writes the records that a lane has, behind the names that they use. */
static void imported_write_flush(struct layout *l, struct layout_lane *lane)
{
	if (!l->error)
		l->error = imported_write_tables(l, (int)l->track->process);
	if (!l->error)
		l->error = sink_records(
			l->writer, lane->sink, lane->records.items, lane->records.count);
	lane->records.count = 0;
}

static void imported_write_put(
	struct layout *l, struct layout_lane *lane, const struct brick_record *r)
{
	if (lane->records.count == MOST_RECORDS)
		imported_write_flush(l, lane);
	if (!l->error)
		l->error = array_push(&lane->records, *r);
}

static uint32_t clamp_32(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* The call that launched a command, or the event itself is; NULL: none is known. */
static struct import_launch *imported_write_launch_of(
	const struct imported *im, const struct imported_event *e)
{
	return e->link ? &im->launched.items[e->link - 1] : NULL;
}

/* The launch of a command; NULL if it was not met in the command's process. */
static struct import_launch *launch_of_command(
	const struct layout *l, const struct imported_event *e)
{
	struct import_launch *launch = imported_write_launch_of(l->im, e);

	return launch && launch->process == l->im->tracks.items[e->track].process ? launch : NULL;
}

/*
 * The name that a command gets, the first of these: the innermost event around its launch, if a
 * rule knows it; the command's own name, if a rule knows that; an event further out around the
 * launch that a rule knows; the innermost event.
 */
static struct imported_name imported_write_command(
	const struct layout *l, const struct imported_event *e)
{
	struct imported_name name = l->im->names.items[e->name];
	const struct import_launch *launch = e->has_brick ? NULL : launch_of_command(l, e);

	if (!launch || !launch->inner)
		return name;
	struct imported_name around = l->im->names.items[launch->inner - 1];
	around.layer = launch->layer;
	if (!around.is_known || around.is_engine) {
		if (name.is_known) {
			name.layer = name.layer < 0 ? around.layer : name.layer;
			name.site = 0;
			return name;
		}
		if (launch->outer) {
			around = l->im->names.items[launch->outer - 1];
			around.layer = launch->layer;
		}
	}
	if (around.is_python && !around.is_known && around.layer < 0) {
		name.site = 0;
		return name;
	}
	around.site = 0;
	return around;
}

/* What lies in a layer's range is in that layer. */
static struct imported_name imported_write_meaning(
	struct layout *l, const struct layout_lane *lane, const struct imported_event *e)
{
	if (e->is_command)
		return imported_write_command(l, e);
	struct imported_name name = l->im->names.items[e->name];
	int16_t around = lane->depth ? lane->frames[lane->depth - 1].name.layer : -1;
	if (name.layer < 0 && around >= 0 && !name.has_own_layer && !brick_is_step(name.brick)) {
		name.layer = around;
		name.site = name.site ? imported_site_in_layer(l->im, name.site, around) : 0;
	}
	return name;
}

static struct brick_record imported_write_record_of(
	const struct layout *l, const struct frame *frame, uint8_t kind, uint64_t ns)
{
	const struct imported_event *e = frame->event;
	const struct imported_name *name = &frame->name;
	struct brick_record r = {.begin = at(l, ns),
		.kind = kind,
		.source = e->is_command ? BRICK_SOURCE_DEVICE_ACTIVITY : BRICK_SOURCE_TSC,
		.brick = name->brick,
		.layer = name->layer};

	if (brick_is_step(name->brick))
		r.elements = e->tokens ? e->tokens : name->tokens;
	if (name->site && kind != BRICK_RECORD_OPEN) {
		r.flags = BRICK_FLAG_SITE;
		r.site = name->site;
	}
	return r;
}

static void imported_write_open(struct layout *l, struct layout_lane *lane, struct frame *frame)
{
	struct brick_record r =
		imported_write_record_of(l, frame, BRICK_RECORD_OPEN, frame->event->begin);

	if (frame->is_opened)
		return;
	imported_write_put(l, lane, &r);
	frame->is_opened = true;
}

/* The bytes that the event moved; 0: not known. */
static uint64_t imported_write_bytes(const struct frame *frame)
{
	return brick_is_step(frame->name.brick) ? 0 : frame->event->bytes;
}

static void write_arguments(struct layout *l, struct layout_lane *lane, const struct frame *frame)
{
	const struct imported_event *e = frame->event;
	struct import_launch *launch =
		e->is_command ? launch_of_command(l, e) : imported_write_launch_of(l->im, e);
	struct brick_record r = {
		.kind = BRICK_RECORD_WORK, .begin = imported_write_bytes(frame), .layer = -1};

	if (r.begin)
		imported_write_put(l, lane, &r);
	if (e->is_command) {
		r = (struct brick_record){.kind = BRICK_RECORD_LAUNCH,
			.layer = -1,
			.brick = e->kernel,
			.elements = e->number};
		if (launch && launch->lane) {
			r.begin = at(l, launch->begin);
			r.ticks = launch->ticks;
			r.wait = launch->lane;
		}
		imported_write_put(l, lane, &r);
	} else if (e->number) {
		r = (struct brick_record){
			.kind = BRICK_RECORD_AFTER, .layer = -1, .elements = e->number};
		imported_write_put(l, lane, &r);
	} else if (launch && launch->command && launch->begin == e->begin) {
		r = (struct brick_record){.kind = BRICK_RECORD_FLOW,
			.layer = -1,
			.ticks = launch->commands - 1,
			.elements = launch->command};
		imported_write_put(l, lane, &r);
	}
}

static void imported_write_count(
	struct layout *l, struct layout_lane *lane, const struct frame *frame)
{
	const struct imported_event *e = frame->event;
	uint16_t brick = frame->name.brick;
	struct brick_stat *s = &lane->state.stats[brick];
	const struct brick_session_site *site = &l->im->sites.items[frame->name.site];
	uint64_t length = e->end - e->begin;

	s->min = !s->count || length < s->min ? length : s->min;
	s->max = length > s->max ? length : s->max;
	s->count++;
	*(--lane->on_stack[brick] ? &s->nested : &s->total) += length;
	s->self += length - frame->child;
	s->elements += site->flags & BRICK_SITE_HAS_ELEMENTS ? site->elements : 0;
	uint64_t bytes = imported_write_bytes(frame);
	s->bytes += bytes ? bytes : site->flags & BRICK_SITE_HAS_BYTES ? site->bytes : 0;
	s->flops += site->flags & BRICK_SITE_HAS_FLOPS ? site->flops : 0;
	if (lane->depth)
		lane->frames[lane->depth - 1].child += length;
}

/* The innermost event of the lane ends. */
static void end_event(struct layout *l, struct layout_lane *lane)
{
	struct frame *frame = &lane->frames[--lane->depth];
	const struct imported_event *e = frame->event;
	uint64_t length = e->end - e->begin;

	if (e->is_open) {
		imported_write_open(l, lane, frame);
		l->has_open[l->track->process] = true;
		return;
	}
	if (!frame->is_opened && length <= UINT32_MAX) {
		struct brick_record r =
			imported_write_record_of(l, frame, BRICK_RECORD_SAMPLE, e->begin);
		r.ticks = (uint32_t)length;
		imported_write_put(l, lane, &r);
	} else {
		struct brick_record r =
			imported_write_record_of(l, frame, BRICK_RECORD_CLOSE, e->end);
		imported_write_open(l, lane, frame);
		imported_write_put(l, lane, &r);
	}
	write_arguments(l, lane, frame);
	imported_write_count(l, lane, frame);
}

static void imported_write_end_before(struct layout *l, struct layout_lane *lane, uint64_t ns)
{
	while (lane->depth && lane->frames[lane->depth - 1].event->end <= ns)
		end_event(l, lane);
}

/* Of events that cross, the less important is cut. */
static int imported_write_rank(const struct imported_name *name)
{
	return brick_is_step(name->brick) ? 2 : !name->is_python;
}

/* What is left of an event from there on comes again, in its turn. */
static void imported_write_keep_rest(
	struct layout *l, struct layout_lane *lane, const struct imported_event *e, uint64_t begin)
{
	struct imported_event *rest = malloc(sizeof(*rest));

	if (!rest || array_push(&l->cut, rest)) {
		free(rest);
		l->error = -ENOMEM;
		return;
	}
	*rest = *e;
	rest->begin = begin;
	rest->link = 0;
	if (array_push(&lane->pieces, rest)) {
		l->error = -ENOMEM;
		return;
	}
	for (size_t i = lane->pieces.count - 1; i && lane->pieces.items[i - 1]->begin < begin;
		i--) {
		lane->pieces.items[i] = lane->pieces.items[i - 1];
		lane->pieces.items[i - 1] = rest;
	}
}

/* Makes the event nest in what is open on its thread. */
static void imported_write_nest(
	struct layout *l, struct layout_lane *lane, struct imported_event *e)
{
	int rank = imported_write_rank(&l->im->names.items[e->name]);
	const struct frame *top = &lane->frames[lane->depth - 1];
	uint32_t i;

	for (i = lane->depth; i--;) {
		uint64_t end = lane->frames[i].event->end;
		if (end >= e->end || imported_write_rank(&lane->frames[i].name) <= rank)
			continue;
		if (!e->is_open)
			imported_write_keep_rest(l, lane, e, end);
		e->end = end;
		e->is_open = false;
	}
	if (top->event->end < e->end && (e->is_open || e->end - top->event->end <= ROUNDING_NS) &&
		imported_write_rank(&top->name) == rank) {
		e->end = top->event->end;
		e->is_open = false;
	}
	for (i = 0; i < lane->depth && lane->frames[i].event->end >= e->end;)
		i++;
	if (i == lane->depth)
		return;
	/* the event goes on in the stead of what it crosses, and so for all that is open in that */
	for (; i < lane->depth; i++) {
		lane->frames[i].event->end = e->begin;
		lane->frames[i].event->is_open = false;
	}
	imported_write_end_before(l, lane, e->begin);
}

/* Begins a lane of the track in the recording; `further`: how many the track has already. */
static void imported_write_begin_lane(struct layout *l, struct layout_lane *lane, size_t further)
{
	const struct imported_track *t = l->track;
	struct brick_lane *state = &lane->state;

	lane->number = l->lane_counts[t->process]++;
	state->state = BRICK_LANE_LIVE;
	state->kind = t->is_queue ? BRICK_LANE_QUEUE : BRICK_LANE_THREAD;
	state->tid = t->tid;
	state->owners = 1;
	state->start_ticks = BASE_NS;
	state->end_ticks = at(l, l->last);
	utf8_field(state->name, sizeof(state->name), t->name);
	if (further && !t->is_asynchronous) {
		utf8_field(state->name, sizeof(state->name) - 8, t->name);
		size_t n = strlen(state->name);
		snprintf(state->name + n, sizeof(state->name) - n, " (%zu)", further + 1);
	}
	if (t->is_queue)
		strcpy(state->backend, t->is_asynchronous ? BRICK_HOST_BACKEND : "gpu");
	state->queue_flags = t->is_asynchronous ? BRICK_QUEUE_OUT_OF_ORDER
			     : t->is_queue	? (uint64_t)(t->device + 1) << 32
						: 0;
	lane->sink = sink_lane(l->writer, (int)t->process, state);
	if (lane->sink < 0)
		l->error = lane->sink;
}

static struct layout_lane *lane_for(struct layout *l, struct imported_event *e)
{
	for (size_t i = 0; i < l->lanes.count; i++) {
		struct layout_lane *lane = l->lanes.items[i];
		imported_write_end_before(l, lane, e->begin);
		if (!lane->depth)
			return lane;
		if (l->track->is_queue)
			continue;
		if (lane->depth >= (l->im->names.items[e->name].is_python ? PYTHON_DEPTH
									  : BRICK_MAX_DEPTH - 1))
			return NULL;
		imported_write_nest(l, lane, e);
		return lane;
	}
	if (l->lanes.count == MOST_LANES)
		return NULL;
	struct layout_lane *lane = calloc(1, sizeof(*lane));
	if (!lane || array_push(&l->lanes, lane)) {
		free(lane);
		l->error = -ENOMEM;
		return NULL;
	}
	imported_write_begin_lane(l, lane, l->lanes.count - 1);
	return l->error ? NULL : lane;
}

/* If the event is a call that launches, keeps the names around it for its commands. */
static void meet_launch(
	struct layout *l, const struct layout_lane *lane, const struct imported_event *e)
{
	struct import_launch *launch = imported_write_launch_of(l->im, e);

	if (!launch || launch->begin != e->begin || launch->lane)
		return;
	launch->lane = lane->number + 1;
	for (uint32_t i = lane->depth; i--;) {
		const struct imported_name *name = &lane->frames[i].name;
		uint32_t index = lane->frames[i].event->name + 1;
		if (brick_is_step(name->brick))
			break;
		if (!launch->inner) {
			launch->inner = index;
			launch->layer = name->layer;
		}
		if (!name->is_known)
			continue;
		launch->outer = index;
		break;
	}
}

static void imported_write_place(struct layout *l, struct imported_event *e)
{
	struct layout_lane *lane = lane_for(l, e);

	if (!lane) {
		l->im->crowded++;
		return;
	}
	if (!e->is_command)
		meet_launch(l, lane, e);
	if (lane->depth)
		imported_write_open(l, lane, &lane->frames[lane->depth - 1]);
	struct imported_name name = imported_write_meaning(l, lane, e);
	lane->frames[lane->depth++] = (struct frame){.event = e, .name = name};
	lane->on_stack[name.brick]++;
	l->im->slices++;
}

/* Places the pieces of cut events that begin before `before`. */
static void imported_write_place_pieces(struct layout *l, uint64_t before)
{
	while (l->lanes.count == 1 && l->lanes.items[0]->pieces.count && !l->error) {
		struct layout_lane *lane = l->lanes.items[0];
		struct imported_event *piece = lane->pieces.items[lane->pieces.count - 1];
		if (piece->begin >= before)
			break;
		lane->pieces.count--;
		imported_write_place(l, piece);
		l->im->slices--;
	}
}

/* Ends what is open on the lane, and writes what was not yet written. */
static void write_lane(struct layout *l, struct layout_lane *lane)
{
	while (lane->depth)
		end_event(l, lane);
	for (uint32_t i = 0; i < l->im->brick_count; i++)
		if (!lane->state.stats[i].count)
			lane->state.stats[i].min = UINT64_MAX;
	imported_write_flush(l, lane);
	if (!l->error)
		l->error = sink_lane_stats(l->writer, lane->sink, &lane->state);
}

/* Events of one track, in order: indices. */
static int write_track(struct layout *l, const uint32_t *order, size_t count)
{
	for (size_t i = 0; i < count && !l->error; i++, l->placed++) {
		if (!(l->placed % MOST_RECORDS))
			l->im->parts_done = (uint32_t)(IMPORT_PARTS_READ +
						       (IMPORT_PARTS - IMPORT_PARTS_READ) *
							       l->placed / l->im->events.count);
		struct imported_event *e = &l->im->events.items[order[i]];
		imported_write_place_pieces(l, e->begin);
		imported_write_place(l, e);
	}
	imported_write_place_pieces(l, UINT64_MAX);
	for (size_t i = 0; i < l->lanes.count; i++) {
		struct layout_lane *lane = l->lanes.items[i];
		write_lane(l, lane);
		array_fini(&lane->records);
		array_fini(&lane->pieces);
		free(lane);
	}
	if (!l->track->is_unseen)
		*(l->track->is_queue ? &l->im->queues : &l->im->threads) +=
			(uint32_t)l->lanes.count;
	l->lanes.count = 0;
	return l->error;
}

/* By begin, what holds others before them, and as they stand in the file. */
static int imported_write_compare(const void *one, const void *other, void *events)
{
	const struct imported_event *a =
		(const struct imported_event *)events + *(const uint32_t *)one;
	const struct imported_event *b =
		(const struct imported_event *)events + *(const uint32_t *)other;

	return ORDER(a->begin, b->begin) ?: ORDER(b->end, a->end) ?: ORDER(a, b);
}

/*
 * Puts the indices of all events in order, track by track. Those of a track end where `ends` of it
 * says.
 */
static void imported_write_order(const struct imported *im, uint32_t *order, size_t *ends)
{
	struct imported_event *events = im->events.items;
	size_t begin = 0;

	memset(ends, 0, im->tracks.count * sizeof(*ends));
	for (size_t i = 0; i < im->events.count; i++)
		ends[events[i].track]++;
	for (size_t t = 0; t < im->tracks.count; t++) {
		size_t count = ends[t];
		ends[t] = begin;
		begin += count;
	}
	for (size_t i = 0; i < im->events.count; i++)
		order[ends[events[i].track]++] = (uint32_t)i;
	begin = 0;
	for (size_t t = 0; t < im->tracks.count; t++) {
		bool is_sorted = true;
		for (size_t i = begin + 1; i < ends[t] && is_sorted; i++)
			is_sorted = imported_write_compare(&order[i - 1], &order[i], events) < 0;
		if (!is_sorted)
			qsort_r(order + begin, ends[t] - begin, sizeof(*order),
				imported_write_compare, events);
		begin = ends[t];
	}
}

/* Links commands to their calls, and gives queues without a process that of these calls. */
static int link_launches(struct imported *im)
{
	SCOPED_BY(hashmap_fini) struct hashmap calls = {0}; /* by link: index in `launched` */

	for (size_t i = 0; i < im->events.count; i++) {
		const struct imported_event *e = &im->events.items[i];
		if (e->is_command || !e->link || hashmap_get(&calls, e->link) != HASHMAP_NONE)
			continue;
		struct import_launch launch = {.begin = e->begin,
			.ticks = e->is_open ? 0 : clamp_32(e->end - e->begin),
			.process = (uint32_t)im->tracks.items[e->track].process,
			.track = e->track};
		if (array_push(&im->launched, launch) ||
			hashmap_set(&calls, e->link, im->launched.count - 1))
			return -ENOMEM;
	}
	for (size_t i = 0; i < im->events.count; i++) {
		struct imported_event *e = &im->events.items[i];
		struct imported_track *t = &im->tracks.items[e->track];
		uint64_t call = e->link ? hashmap_get(&calls, e->link) : HASHMAP_NONE;
		e->link = call == HASHMAP_NONE ? 0 : call + 1;
		if (e->is_command && e->link && !t->has_process) {
			t->process = im->launched.items[call].process;
			t->has_process = true;
		}
	}
	for (size_t i = 0; i < im->tracks.count; i++)
		if (!im->tracks.items[i].has_process)
			im->tracks.items[i].process = 0;
	return 0;
}

COMPARATOR(imported_write_compare_ends, struct command_end,
	ORDER(x->ns, y->ns) ?: ORDER(x->number, y->number))

/* Commands of one launch get numbers in a row. */
static int imported_write_number_commands(struct layout *l)
{
	struct imported *im = l->im;

	for (size_t i = 0; i < im->events.count; i++) {
		const struct imported_event *e = &im->events.items[i];
		struct import_launch *launch = e->is_command ? launch_of_command(l, e) : NULL;
		if (launch)
			launch->commands++;
	}
	im->commands = 0;
	for (size_t i = 0; i < im->launched.count; i++) {
		struct import_launch *launch = &im->launched.items[i];
		launch->command = launch->commands ? (uint32_t)im->commands + 1 : 0;
		im->commands += launch->commands;
		launch->commands = 0;
	}
	for (size_t i = 0; i < im->events.count; i++) {
		struct imported_event *e = &im->events.items[i];
		if (!e->is_command)
			continue;
		struct import_launch *launch = launch_of_command(l, e);
		e->number =
			launch ? launch->command + launch->commands++ : (uint32_t)++im->commands;
		if (!e->is_open && array_push(&l->ends, (struct command_end){e->end, e->number}))
			return -ENOMEM;
	}
	if (l->ends.count)
		qsort(l->ends.items, l->ends.count, sizeof(*l->ends.items),
			imported_write_compare_ends);
	return 0;
}

/* A wait ends with the command that it waited for: the last one that ended in it. */
static void imported_write_waits(struct layout *l)
{
	for (size_t i = 0; i < l->im->events.count; i++) {
		struct imported_event *e = &l->im->events.items[i];
		const struct import_launch *launch = imported_write_launch_of(l->im, e);
		if (e->is_command || e->is_open || (launch && launch->command) ||
			l->im->names.items[e->name].brick != BRICK_SYNCHRONIZE)
			continue;
		size_t ended = BISECT(k, 0, l->ends.count, l->ends.items[k].ns <= e->end);
		if (ended && l->ends.items[ended - 1].ns > e->begin)
			e->number = l->ends.items[ended - 1].number;
	}
}

static uint64_t said_key(uint32_t pid, uint64_t tid, bool is_process)
{
	return hash_add(hash_add(pid, is_process), tid);
}

/* What was said last holds. Queues that the file takes for threads are called as those. */
static int apply_names(struct imported *im)
{
	SCOPED_BY(hashmap_fini) struct hashmap said = {0};

	for (size_t i = 0; i < im->said.count; i++) {
		const struct imported_said *s = &im->said.items[i];
		if (hashmap_set(&said, said_key(s->pid, s->tid, s->is_process), i))
			return -ENOMEM;
	}
	for (size_t i = 0; i < im->processes.count; i++) {
		struct imported_process *p = &im->processes.items[i];
		uint64_t at = hashmap_get(&said, said_key(p->pid, 0, true));
		if (at != HASHMAP_NONE)
			utf8_field(p->name, sizeof(p->name), im->said.items[at].text);
	}
	for (size_t i = 0; i < im->tracks.count; i++) {
		struct imported_track *t = &im->tracks.items[i];
		if (!t->has_process || (t->is_queue && !im->queues_are_threads))
			continue;
		uint64_t at = hashmap_get(
			&said, said_key(im->processes.items[t->process].pid, t->tid, false));
		if (at != HASHMAP_NONE)
			utf8_field(t->name, sizeof(t->name), im->said.items[at].text);
	}
	return 0;
}

static int imported_write_process(struct layout *l, size_t i)
{
	const struct imported_process *p = &l->im->processes.items[i];
	struct brick_session_header header = {.magic = BRICK_SESSION_MAGIC,
		.version = BRICK_SESSION_VERSION,
		.state = BRICK_SESSION_CLOSED,
		.pid = p->pid,
		.rank = l->im->world ? l->im->rank : -1,
		.world = l->im->world ? l->im->world : -1,
		.start_ticks = BASE_NS,
		.end_ticks = at(l, l->last),
		.start_ns = BASE_NS,
		.start_unix_ns = l->im->start_unix_ns,
		.clock = *sink_clock_get(l->writer),
		.ledger = {.unmatched = i ? 0 : l->im->unmatched}};

	memcpy(header.executable, p->name, sizeof(p->name));
	utf8_field(header.host, sizeof(header.host), l->im->host);
	int number = sink_process(l->writer, &header);
	return number < 0 ? number : imported_write_tables(l, number);
}

static int imported_write_end_process(struct layout *l, size_t i)
{
	const struct imported *im = l->im;
	char notes[BRICK_NOTES_BYTES];
	int bytes = snprintf(notes, sizeof(notes),
		"engine=%s, imported\nimported=%llu events of the file were left out\n%s", im->tool,
		(unsigned long long)(im->left_out + im->crowded), im->about_steps);
	for (size_t k = 0; k < im->devices.count && bytes + 512 < (int)sizeof(notes); k++) {
		const struct imported_device *d = &im->devices.items[k];
		uint32_t gpu = d->device + 1;
		bool has_queue = false;
		for (size_t t = 0; t < im->tracks.count; t++)
			has_queue = has_queue || (im->tracks.items[t].is_queue &&
							 im->tracks.items[t].device == d->device &&
							 im->tracks.items[t].process == i);
		if (!has_queue)
			continue;
		if (*d->name)
			bytes += snprintf(notes + bytes, sizeof(notes) - (size_t)bytes,
				"cuda.device=%u %s\ngpu.%u.name=%s\n", d->device, d->name, gpu,
				d->name);
		if (d->memory_bytes)
			bytes += snprintf(notes + bytes, sizeof(notes) - (size_t)bytes,
				"gpu.%u.memory=%llu\n", gpu, (unsigned long long)d->memory_bytes);
		if (d->peak_bytes)
			bytes += snprintf(notes + bytes, sizeof(notes) - (size_t)bytes,
				"gpu.%u.memory_peak=%llu\n", gpu,
				(unsigned long long)d->peak_bytes);
	}
	int error = sink_notes(l->writer, (int)i, notes, (size_t)bytes);

	return error ? error : sink_process_end(l->writer, (int)i, at(l, l->last), !l->has_open[i]);
}

static int write_tracks(struct layout *l, const uint32_t *order, const size_t *ends, bool queues)
{
	size_t begin = 0;

	for (size_t t = 0; t < l->im->tracks.count && !l->error; begin = ends[t++]) {
		l->track = &l->im->tracks.items[t];
		if (l->track->is_queue == queues && ends[t] > begin)
			write_track(l, order + begin, ends[t] - begin);
	}
	return l->error;
}

static int imported_write_all(struct layout *l, const uint32_t *order, const size_t *ends)
{
	struct imported *im = l->im;
	int error = apply_names(im);

	if (!error)
		error = imported_write_number_commands(l);
	imported_write_waits(l);
	for (size_t i = 0; i < im->processes.count && !error; i++)
		error = imported_write_process(l, i);
	if (!error)
		error = write_tracks(l, order, ends, false);
	if (!error)
		error = write_tracks(l, order, ends, true);
	for (size_t i = 0; i < im->processes.count && !error; i++)
		error = imported_write_end_process(l, i);
	const struct sink_account account = {.end_ns = at(l, l->last), .exit_code = -1};
	return error ? error : sink_account(l->writer, &account);
}

static void imported_write_measure(struct layout *l)
{
	const struct imported *im = l->im;

	l->first = im->begin ? im->begin : UINT64_MAX;
	for (size_t i = 0; i < im->events.count; i++) {
		const struct imported_event *e = &im->events.items[i];
		l->first = e->begin < l->first ? e->begin : l->first;
		l->last = e->begin > l->last ? e->begin : l->last;
		l->last = !e->is_open && e->end > l->last ? e->end : l->last;
	}
}

int imported_write(struct imported *im, struct trace_writer_options *options)
{
	const struct brick_clock clock = {.source = BRICK_CLOCK_MONOTONIC,
		.mult = 1,
		.frequency = 1000000000,
		.residual_ns = UINT32_MAX, /* what the other tool's clock was worth */
		.step_ticks = 1};
	struct layout l = {.im = im};
	struct trace_writer *w;

	if (!im->events.count)
		return BRICK_ENOTRECORDED;
	if (!im->processes.count && imported_process(im, 0) < 0)
		return -ENOMEM;
	imported_write_measure(&l);
	l.lane_counts = calloc(im->processes.count, sizeof(*l.lane_counts));
	l.has_open = calloc(im->processes.count, sizeof(*l.has_open));
	int error = l.lane_counts && l.has_open ? link_launches(im) : -ENOMEM;
	if (!error)
		error = imported_steps_add(im, l.first, l.last, l.has_open);
	SCOPED uint32_t *order = malloc(im->events.count * sizeof(*order));
	SCOPED size_t *ends = malloc(im->tracks.count * sizeof(*ends));
	if (!error && (!order || !ends))
		error = -ENOMEM;
	if (!error)
		imported_write_order(im, order, ends);
	options->start_ns = BASE_NS;
	options->start_unix_ns = im->start_unix_ns;
	options->command = (const char *const *)im->command.items;
	if (!error)
		error = trace_writer_create(&w, options);
	if (!error) {
		l.writer = w;
		error = sink_clock(l.writer, &clock);
		if (!error)
			error = imported_write_all(&l, order, ends);
		if (error)
			trace_writer_abandon(w);
		else
			error = trace_writer_finish(w);
	}
	free(l.lane_counts);
	free(l.has_open);
	for (size_t i = 0; i < l.cut.count; i++)
		free(l.cut.items[i]);
	array_fini(&l.cut);
	array_fini(&l.ends);
	array_fini(&l.lanes);
	return error;
}
