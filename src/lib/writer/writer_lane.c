/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the packets of a lane's sequence: its tracks, the begins and ends of its slices, its
 * instants and counters, and the times off the CPU. Its records come from lane_rules.c, so slices
 * nest, time never runs back, and all ids are in the tables.
 *
 * begin_put() says what a begin has, and end_put() what an end has. Most begins are copies of a
 * template (begin_from_template()), few are made anew (slice_lay()), and those with links to other
 * slices are made in the scratch, because they may be long (linked_begin()). slice_begin() chooses.
 */
#include "lib/writer/writer_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "brick/abi/step_counters.h"

/*
 * The bytes of a lane's packets. Each begins with its timestamp, so all that changes when a packet
 * repeats another stands in one place. Lengths fit one byte each: no such packet has 128.
 */

/*
 * Sequence and the tag of the track event, whose length comes next. No packet says that it needs
 * the sequence's state: the sequence's first packet clears that once.
 */
static inline unsigned slice_common(uint8_t *at, uint32_t sequence)
{
	unsigned n = pb_put_field(at, PACKET_SEQUENCE_ID, sequence);

	at[n++] = PB_TAG(PACKET_TRACK_EVENT, PB_LENGTH);
	return n;
}

/* The interned id of the brick's category; 0: it has no valid one. */
static inline uint32_t slice_category(const struct writer_process *process, uint32_t brick)
{
	uint32_t category = process->tables.bricks[brick].category;

	return category < process->tables.category_count ? category + 1 : 0;
}

static inline unsigned slice_annotation(
	uint8_t *at, enum format_annotation name, uint32_t field, uint64_t value)
{
	unsigned n = 2;

	at[0] = PB_TAG(EVENT_ANNOTATIONS, PB_LENGTH);
	n += pb_put_field(at + n, ANNOTATION_NAME_IID, name);
	n += pb_put_field(at + n, field, value);
	at[1] = (uint8_t)(n - 2);
	return n;
}

/* A varint as short as possible; it may overwrite up to four bytes behind itself. */
static inline unsigned slice_varint(uint8_t *at, uint64_t value)
{
	if (value >> 28)
		return pb_put_varint(at, value);
	uint32_t v = (uint32_t)value, spread = (v & 0x7f) | (v & 0x3f80) << 1;
	unsigned n = 1u + (v >= 1 << 7) + (v >= 1 << 14) + (v >= 1 << 21);
	spread |= (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
	spread |= 0x80808080u & ((1u << 8 * (n - 1)) - 1); /* all but the last go on */
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(spread >> 8 * i);
	return n;
}

/*
 * The start of a packet; its length, at[1], is filled in when the packet is complete. In a
 * compressed file the timestamp takes `bytes` (2 or 3) at least, so that packets that repeat each
 * other are of equal length.
 */
static inline unsigned slice_open(
	uint8_t *at, const struct packets *p, uint64_t delta, unsigned bytes)
{
	at[0] = PB_TAG(TRACE_PACKET, PB_LENGTH);
	at[2] = PB_TAG(PACKET_TIMESTAMP, PB_VARINT);
	if (!p->deflater)
		return 3 + slice_varint(at + 3, delta);
	if (delta >> (7 * bytes))
		return 3 + pb_put_varint(at + 3, delta);
	at[3] = (uint8_t)(delta | 0x80);
	at[4] = (uint8_t)(delta >> 7 | (bytes > 2 ? 0x80 : 0));
	if (bytes > 2)
		at[5] = (uint8_t)(delta >> 14);
	return 3 + bytes;
}

/* Bytes of a timestamp: the time between slices is mostly below 2^14 ns, their length below 2^21.
 */
enum { GAP_BYTES = 2, LENGTH_BYTES = 3 };

/*
 * ns since the lane's last packet, for the one that is laid at `ns`. Time of a lane never runs
 * back, whatever the clock's calibrations do.
 */
static inline uint64_t lane_advance(struct writer_lane *lane, uint64_t ns)
{
	uint64_t delta = ns > lane->last_ns ? ns - lane->last_ns : 0;

	lane->last_ns += delta;
	return delta;
}

/*
 * Lays an event of the lane: `fields`, its type first. like: where the last event lies that it
 * resembles, which is this one from now on; NULL: there is none.
 */
static inline void slice_lay(struct writer_lane *lane, uint64_t ns, unsigned time_bytes,
	const uint8_t *fields, unsigned bytes, packet_place *like)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned head = slice_open(at, p, lane_advance(lane, ns), time_bytes);
	unsigned n = head + slice_common(at + head, lane->sequence);

	at[n++] = (uint8_t)bytes;
	memcpy(at + n, fields, bytes);
	n += bytes;
	if (like)
		*like = packet_laid(
			p, head, n - head, distance_back(p, head, like), DEFLATE_UNKNOWN);
	else
		packet_laid(p, n, 0, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
}

/*
 * Tracks: a lane's sequence begins with its clock, its defaults and its track, and gets another
 * track with each thread that takes the lane over. Tracks of counters stand beside those of the
 * process.
 */

static const char *const annotation_names[] = {
#define FORMAT_X(identifier, name) name,
	FORMAT_ANNOTATIONS(FORMAT_X)
#undef FORMAT_X
};

static void sequence_defaults(struct pb_buffer *b, uint64_t uuid)
{
	size_t defaults = pb_open(b, PACKET_DEFAULTS);

	pb_varint(b, DEFAULTS_CLOCK_ID, CLOCK_ID_LANE);
	size_t event = pb_open(b, DEFAULTS_TRACK_EVENT);
	pb_varint(b, EVENT_DEFAULTS_TRACK_UUID, uuid);
	pb_close(b, event);
	pb_close(b, defaults);
}

static bool is_of_gpu(const struct writer_lane *lane)
{
	return lane->kind == BRICK_LANE_QUEUE &&
	       strncmp(lane->backend, BRICK_HOST_BACKEND, sizeof(lane->backend)) != 0;
}

/* Describes the lane's track, and makes it the track of the packets that follow. */
static int lane_track(const struct writer_lane *lane)
{
	struct pb_buffer *b = &lane->packets->scratch;
	char name[3 * (sizeof(lane->name) + sizeof(lane->backend))];
	bool is_thread = lane->kind == BRICK_LANE_THREAD;
	size_t size = 0;

	if (!is_thread && lane->backend[0]) {
		size = tables_text(name, sizeof(name), lane->backend, sizeof(lane->backend));
		size += tables_text(name + size, sizeof(name) - size, ": ", 2);
	}
	size += tables_text(name + size, sizeof(name) - size, lane->name, sizeof(lane->name));

	size_t packet = packet_open(b, lane->sequence, SEQUENCE_NEEDS_STATE);
	sequence_defaults(b, lane->uuid);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, lane->uuid);
	pb_varint(b, TRACK_PARENT_UUID, lane->process->uuid);
	if (is_thread) {
		size_t thread = pb_open(b, TRACK_THREAD);
		pb_varint(b, THREAD_PID, lane->process->pid);
		pb_varint(b, THREAD_TID, lane->track_tid);
		if (size)
			pb_string(b, THREAD_NAME, name, size);
		pb_close(b, thread);
	} else { /* two queues may have one name, and yet stay two */
		pb_string(b, TRACK_NAME, name, size);
		pb_varint(b, TRACK_SIBLING_MERGE, SIBLING_MERGE_NONE);
	}
	pb_close(b, track);
	if (is_of_gpu(lane)) { /* the queue as Perfetto's GPU views know it */
		size_t interned = pb_open(b, PACKET_INTERNED_DATA);
		gpu_stages_intern(&lane->stages, name, size);
		pb_close(b, interned);
	}
	pb_close(b, packet);
	return packets_add(lane->packets);
}

int writer_lane_start(struct writer_lane *lane, const struct brick_record *first)
{
	struct pb_buffer *b = &lane->packets->scratch;
	uint64_t ticks = lane->start_ticks;

	if (first->kind == BRICK_RECORD_THREAD && first->elements != lane->tid) {
		lane->track_tid = first->elements; /* there has been another one since */
		lane->name[0] = 0;
	}
	/* its time begins with its thread, or with a record of an earlier thread */
	if (!record_is_arg(first) && (!ticks || first->begin < ticks))
		ticks = first->begin;
	lane->last_ns = writer_ns(lane->process, ticks);
	lane->started = true;
	if (is_of_gpu(lane))
		lane->names.gpu = gpu_list_use(lane->process->gpus, lane->packets,
			lane->process->number, brick_queue_gpu(lane->queue_flags));
	b->size = 0;
	size_t packet = packet_open(b, lane->sequence, SEQUENCE_STATE_CLEARED);
	sequence_defaults(b, lane->uuid);
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < sizeof(annotation_names) / sizeof(*annotation_names); i++)
		names_entry(b, INTERNED_ANNOTATION_NAMES, i + 1u, annotation_names[i],
			strlen(annotation_names[i]));
	pb_close(b, interned);
	packets_clock_snapshot(lane->packets, lane->last_ns, true);
	pb_close(b, packet);
	return lane_track(lane);
}

static uint64_t owner_uuid(const struct writer_lane *lane, uint64_t kind, size_t owner)
{
	return packets_uuid(lane->packets, kind, lane->number + ((uint64_t)owner << 32));
}

/* Another thread owns the lane from now on, and has no name yet. */
static int lane_take_over(struct writer_lane *lane, uint64_t tid)
{
	if (array_push(&lane->former, lane->track_tid))
		return packets_fail(lane->packets, -ENOMEM);
	lane->track_tid = tid;
	lane->name[0] = 0;
	lane->uuid = owner_uuid(lane, UUID_LANE, lane->former.count);
	lane->packets->scratch.size = 0;
	return lane_track(lane);
}

int writer_lane_name(struct writer_lane *lane, const char *name)
{
	if (!strncmp(lane->name, name, sizeof(lane->name)))
		return lane->packets->error;
	memcpy(lane->name, name, sizeof(lane->name));
	lane->packets->scratch.size = 0;
	return lane_track(lane);
}

struct known_counter {
	const char *name;
	uint32_t unit;
};

#define FORMAT_X(name, unit) {name, unit},
static const struct known_counter step_counters[] = {FORMAT_STEP_COUNTERS(FORMAT_X){0}};
static const struct known_counter token_counters[] = {FORMAT_TOKEN_COUNTERS(FORMAT_X){0}};
#undef FORMAT_X

/* 0: it is not in the list, which ends with an entry without a name. */
static uint32_t counter_unit(
	const struct known_counter *list, const struct writer_process *process, uint32_t brick)
{
	const struct brick_session_brick *entry = &process->tables.bricks[brick];

	while (list->name && strncmp(entry->name, list->name, sizeof(entry->name)))
		list++;
	return list->unit;
}

/* A counter is one track per process and brick, described on first use. */
static int counter_track(struct writer_lane *lane, uint32_t brick)
{
	struct writer_process *process = lane->process;
	struct pb_buffer *b = &lane->packets->scratch;
	char name[3 * sizeof(process->tables.bricks->name)];
	uint32_t unit = counter_unit(step_counters, process, brick);

	if (!process->counter_uuids)
		process->counter_uuids = calloc(BRICK_MAX_BRICKS, sizeof(*process->counter_uuids));
	if (!process->counter_uuids)
		return packets_fail(lane->packets, -ENOMEM);
	if (process->counter_uuids[brick])
		return lane->packets->error;
	process->counter_uuids[brick] = packets_uuid(lane->packets, UUID_COUNTER,
		(uint64_t)lane->process_number * BRICK_MAX_BRICKS + brick);
	if (!unit)
		unit = counter_unit(token_counters, process, brick);
	size_t size = tables_text(name, sizeof(name), process->tables.bricks[brick].name,
		sizeof(process->tables.bricks->name));
	b->size = 0;
	size_t packet = packet_open(b, lane->sequence, SEQUENCE_NEEDS_STATE);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, process->counter_uuids[brick]);
	pb_varint(b, TRACK_PARENT_UUID, process->uuid);
	pb_string(b, TRACK_NAME, name, size);
	size_t described = pb_open(b, TRACK_COUNTER);
	if (unit)
		pb_varint(b, COUNTER_UNIT, unit);
	pb_close(b, described);
	pb_close(b, track);
	pb_close(b, packet);
	return packets_add(lane->packets);
}

/*
 * What the begin of a slice says. Its place is what all executions of a site, or of a brick in a
 * layer, have in common.
 */

static unsigned begin_put_names(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name)
{
	uint32_t category = slice_category(lane->process, brick);
	unsigned n = category ? pb_put_field(at, EVENT_CATEGORY_IIDS, category) : 0;

	return n + pb_put_field(at + n, EVENT_NAME_IID, name);
}

/* The fields that a message of FORMAT_SITE_FIELD has; its tag and length take three bytes. */
static unsigned put_site_field(uint8_t *at, const uint8_t *members, unsigned bytes)
{
	unsigned n = pb_put_varint(at, PB_TAG(FORMAT_SITE_FIELD, PB_LENGTH));

	at[n++] = (uint8_t)bytes;
	memcpy(at + n, members, bytes);
	return n + bytes;
}

static inline bool begin_has_site(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE;
}

/* Behind the event's type. */
static unsigned begin_put_place(
	uint8_t *at, const struct writer_lane *lane, const struct brick_record *r, uint32_t name)
{
	if (!begin_has_site(r)) {
		unsigned n = begin_put_names(at, lane, r->brick, name);
		if (r->layer != -1)
			n += slice_annotation(at + n, FORMAT_A_LAYER, ANNOTATION_INT,
				(uint64_t)(int64_t)r->layer);
		if (r->brick == BRICK_BARRIER_WAIT)
			n += slice_annotation(at + n, FORMAT_A_ALONE, ANNOTATION_BOOL, 1);
		return n;
	}
	const struct brick_session_site *site = &lane->process->tables.sites[r->site];
	const struct site_numbers *numbers = &lane->process->sites[r->site];
	uint8_t members[32];
	unsigned n = 0;
	if (site->label[0])
		n = pb_put_field(members, FORMAT_S_TENSOR, numbers->tensor);
	if (site->layer != -1)
		n += pb_put_field(members + n, FORMAT_S_LAYER, (uint64_t)(int64_t)site->layer);
	n += pb_put_field(members + n, FORMAT_S_SITE, numbers->site);
	if (site->operation[0])
		n += pb_put_field(members + n, FORMAT_S_OPERATION, numbers->operation);
	n = put_site_field(at, members, n);
	return n + begin_put_names(at + n, lane, r->brick, name);
}

/* All fields of a begin's event, whoever lays it. `name` stands for its brick or its kernel. */
static unsigned begin_put(
	uint8_t *at, const struct writer_lane *lane, const struct brick_record *r, uint32_t name)
{
	unsigned n = pb_put_field(at, EVENT_TYPE, EVENT_BEGIN);

	n += begin_put_place(at + n, lane, r, name);
	if (record_is_step(r))
		n += slice_annotation(at + n, FORMAT_A_TOKENS, ANNOTATION_UINT, record_tokens(r));
	if (record_output_tokens(r))
		n += slice_annotation(
			at + n, FORMAT_A_OUTPUT_TOKENS, ANNOTATION_UINT, record_output_tokens(r));
	if (r->source != BRICK_SOURCE_TSC)
		n += slice_annotation(at + n, FORMAT_A_SOURCE, ANNOTATION_STRING_IID,
			FORMAT_SOURCE_IID + r->source);
	return n;
}

/*
 * Templates: the packet that begins a slice, without its timestamp, for a site, or for a brick in a
 * layer. A lane makes each once and copies it from then on. Making one also writes all names in it.
 */

enum { MIN_TABLE = 64 };

/* fields: of the begin's event, behind its type. NULL: failed. */
static struct packet_template *template_make(struct writer_lane *lane, struct packet_template *t,
	uint32_t brick, const uint8_t *fields, unsigned bytes)
{
	uint8_t packet[128];
	unsigned n = slice_common(packet, lane->sequence);

	if (names_brick(&lane->names, brick))
		return NULL;
	packet[n++] = (uint8_t)(2 + bytes);
	n += pb_put_field(packet + n, EVENT_TYPE, EVENT_BEGIN);
	memcpy(packet + n, fields, bytes);
	n += bytes;
	if (n > sizeof(t->bytes)) {
		packets_fail(lane->packets, -EOVERFLOW);
		return NULL;
	}
	memcpy(t->bytes, packet, n);
	t->length = (uint16_t)n;
	t->brick = (uint16_t)brick;
	t->last = 0;
	return t;
}

/* Where the site's template is; NULL: its page was not made. */
static inline struct packet_template *template_place(const struct writer_lane *lane, uint32_t site)
{
	uint32_t number = site / SITES_A_PAGE;
	struct packet_template *page =
		number < lane->site_pages_capacity ? lane->site_pages[number] : NULL;

	return page ? &page[site % SITES_A_PAGE] : NULL;
}

/* A program has thousands of sites and may have thousands of lanes, each of which meets few. */
static struct packet_template *template_make_page(struct writer_lane *lane, uint32_t site)
{
	uint32_t number = site / SITES_A_PAGE, capacity = lane->site_pages_capacity;

	while (capacity <= number)
		capacity = capacity ? 2 * capacity : MIN_TABLE;
	if (capacity > lane->site_pages_capacity) {
		struct packet_template **pages =
			realloc(lane->site_pages, capacity * sizeof(*pages));
		if (!pages)
			return NULL;
		memset(pages + lane->site_pages_capacity, 0,
			(capacity - lane->site_pages_capacity) * sizeof(*pages));
		lane->site_pages = pages;
		lane->site_pages_capacity = capacity;
	}
	lane->site_pages[number] = calloc(SITES_A_PAGE, sizeof(struct packet_template));
	return template_place(lane, site);
}

/* Of the site's own brick. */
static struct packet_template *template_of_site(struct writer_lane *lane, uint32_t site)
{
	const struct brick_record sample = {.kind = BRICK_RECORD_SAMPLE,
		.flags = BRICK_FLAG_SITE,
		.brick = (uint16_t)lane->process->tables.sites[site].brick,
		.site = site};
	struct packet_template *t = template_place(lane, site);
	uint8_t fields[64];

	if (!t && !(t = template_make_page(lane, site))) {
		packets_fail(lane->packets, -ENOMEM);
		return NULL;
	}
	if (t->length)
		return t;
	if (site >= lane->process->site_count && names_sites(lane->process))
		return NULL;
	t->sibling = lane->process->sites[site].sibling;
	return template_make(lane, t, sample.brick, fields,
		begin_put_place(fields, lane, &sample, format_brick_name(sample.brick)));
}

/* Of a record's brick and layer. */
static struct packet_template *template_of_layer(
	struct writer_lane *lane, const struct brick_record *r)
{
	struct template_table *table = &lane->plain;
	uint64_t key = (uint64_t)r->brick << 16 | (uint16_t)r->layer;
	uint64_t at = hashmap_get(&table->by_brick, key);
	uint8_t fields[32];

	if (at == HASHMAP_NONE) {
		at = table->entries.count;
		if (array_push(&table->entries, (struct packet_template){0}) ||
			hashmap_set(&table->by_brick, key, at)) {
			packets_fail(lane->packets, -ENOMEM);
			return NULL;
		}
	}
	struct packet_template *t = &table->entries.items[at];
	if (t->length)
		return t;
	return template_make(lane, t, r->brick, fields,
		begin_put_place(fields, lane, r, format_brick_name(r->brick)));
}

/* All fields of an end's event but those of its links. work: NULL when there is none. */
static unsigned end_put(uint8_t *at, const struct writer_lane *lane, const struct brick_record *r,
	const struct brick_record *work)
{
	unsigned n = pb_put_field(at, EVENT_TYPE, EVENT_END);

	if (r->flags & BRICK_FLAG_SITE) {
		if (r->kind == BRICK_RECORD_CLOSE) {
			uint8_t member[8];
			n += put_site_field(at + n, member,
				pb_put_field(
					member, FORMAT_S_SITE, lane->process->sites[r->site].site));
		}
		if (r->inner)
			n += slice_annotation(at + n, FORMAT_A_INNER, ANNOTATION_UINT,
				writer_duration_ns(lane->process, r->inner));
	} else if (r->flags & BRICK_FLAG_ELEMENTS) {
		n += slice_annotation(at + n, FORMAT_A_ELEMENTS, ANNOTATION_UINT, r->elements);
	}
	if (work && work->begin)
		n += slice_annotation(at + n, FORMAT_A_BYTES, ANNOTATION_UINT, work->begin);
	if (work && work->elements)
		n += slice_annotation(at + n, FORMAT_A_FLOPS, ANNOTATION_UINT, work->elements);
	if (r->flags & BRICK_FLAG_CLAMPED)
		n += slice_annotation(at + n, FORMAT_A_CLAMPED, ANNOTATION_BOOL, 1);
	if (r->flags & BRICK_FLAG_UNWOUND)
		n += slice_annotation(at + n, FORMAT_A_UNWOUND, ANNOTATION_BOOL, 1);
	return n;
}

/*
 * Slices of which more is known than a template holds: commands of queues (what was launched, when,
 * by whom and after what), the calls that launched them, the waits for them, and tiles. A slice is
 * one packet at its begin and one at its end, whatever is known of it.
 */

static void annotate(
	struct pb_buffer *b, enum format_annotation name, uint32_t field, uint64_t value)
{
	uint8_t bytes[32];

	pb_bytes(b, bytes, slice_annotation(bytes, name, field, value));
}

/* How long before the slice's begin something happened; negative: after it. */
static void annotate_before(
	const struct writer_lane *lane, enum format_annotation name, uint64_t ticks)
{
	if (ticks)
		annotate(&lane->packets->scratch, name, ANNOTATION_INT,
			lane->begin_ns - writer_ns(lane->process, ticks));
}

static void put_flow_id(const struct writer_lane *lane, uint32_t field, uint64_t id)
{
	uint8_t bytes[8], tag[4];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(id >> (8 * i));
	pb_bytes(&lane->packets->scratch, tag, pb_put_varint(tag, PB_TAG(field, PB_FIXED64)));
	pb_bytes(&lane->packets->scratch, bytes, sizeof(bytes));
}

static void put_flow(const struct writer_lane *lane, uint32_t field, uint64_t number)
{
	if (number && !(number >> FORMAT_FLOW_BITS))
		put_flow_id(lane, field, lane->process->flow_base + number);
}

/* An arrow to each command that a call launched; for a graph, up to MAX_FLOWS. */
static void put_launched(const struct writer_lane *lane, const struct record_args *args)
{
	for (uint32_t i = 0; i < args->flow_count; i++)
		for (uint32_t j = 0; j <= args->further[i] && j < GPU_MAX_FLOWS; j++)
			put_flow(lane, EVENT_FLOWS, args->flows[i] + j);
	gpu_stages_launched(&lane->names, args);
}

/*
 * A flow leads through slices in the order of their times. If several slices waited for one
 * command, only the first to be written ends the flow: otherwise there would be arrows between
 * them.
 */
static void put_arrows(const struct writer_lane *lane, const struct record_args *args)
{
	struct writer_process *process = lane->process;
	uint64_t waited[RECORD_LINKS];
	uint32_t count = 0;

	if (args->dependency_count && !process->arrows)
		process->arrows = calloc(WRITER_ARROWS, sizeof(*process->arrows));
	for (uint32_t i = 0; process->arrows && i < args->dependency_count; i++) {
		uint64_t number = args->dependencies[i];
		uint64_t *ended = &process->arrows[number % WRITER_ARROWS];
		if (number && *ended != number)
			*ended = waited[count++] = number;
	}
	for (uint32_t i = 0; i < count; i++)
		put_flow(lane, EVENT_TERMINATING_FLOWS, waited[i]);
	if (lane->kind == BRICK_LANE_THREAD) /* a stage tells by itself what it waited for */
		gpu_stages_waited(&lane->names, waited, count);
}

static void put_dependencies(const struct writer_lane *lane, const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;

	if (!args->dependency_count)
		return;
	size_t list = pb_open(b, EVENT_ANNOTATIONS);
	pb_varint(b, ANNOTATION_NAME_IID, FORMAT_A_AFTER);
	for (uint32_t i = 0; i < args->dependency_count; i++) {
		size_t item = pb_open(b, ANNOTATION_ARRAY);
		pb_varint(b, ANNOTATION_UINT, args->dependencies[i]);
		pb_close(b, item);
	}
	pb_close(b, list);
}

/* What a command was, and when it was launched, queued and submitted. */
static void put_command(const struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;
	const struct brick_record *launch = &args->launch, *times = &args->times;
	uint32_t kernel = record_kernel(&lane->process->tables, args);

	if (launch->kind)
		put_flow(lane, EVENT_FLOWS, launch->elements);
	if (kernel) {
		annotate(b, FORMAT_A_KERNEL, ANNOTATION_STRING_IID, FORMAT_KERNEL_IID + kernel);
		if (r)
			annotate(b, FORMAT_A_BRICK, ANNOTATION_STRING_IID,
				format_brick_value(r->brick));
	}
	if (launch->kind && launch->begin) {
		annotate_before(lane, FORMAT_A_LAUNCHED, launch->begin);
		annotate(b, FORMAT_A_CALL, ANNOTATION_UINT,
			writer_duration_ns(lane->process, launch->ticks));
	}
	if (times->kind) {
		annotate_before(lane, FORMAT_A_QUEUED, times->begin);
		annotate_before(lane, FORMAT_A_SUBMITTED, times->elements);
	}
}

static void put_tile(struct writer_lane *lane, const struct brick_record *tile)
{
	struct pb_buffer *b = &lane->packets->scratch;

	annotate(b, FORMAT_A_ROW, ANNOTATION_UINT, tile->begin >> 32);
	annotate(b, FORMAT_A_COLUMN, ANNOTATION_UINT, tile->begin & UINT32_MAX);
	annotate(b, FORMAT_A_LEVEL, ANNOTATION_UINT, tile->elements);
}

/* Names that the packet will refer to; 0 when the writer has failed. */
static bool intern_kernel(struct writer_lane *lane, const struct record_args *args)
{
	uint32_t kernel = record_kernel(&lane->process->tables, args);

	if (kernel)
		names_kernel(&lane->names, kernel);
	return !lane->packets->error;
}

/* An event that is made in the scratch, because it may be long. */
struct linked_event {
	size_t packet, event;
};

static struct linked_event linked_open(const struct writer_lane *lane)
{
	struct pb_buffer *b = &lane->packets->scratch;
	struct linked_event opened;

	b->size = 0;
	opened.packet = packet_open(b, lane->sequence, SEQUENCE_NEEDS_STATE);
	opened.event = pb_open(b, PACKET_TRACK_EVENT);
	return opened;
}

static struct linked_event linked_open_instant(
	const struct writer_lane *lane, enum format_event_name name)
{
	struct pb_buffer *b = &lane->packets->scratch;
	struct linked_event opened = linked_open(lane);

	pb_varint(b, EVENT_TYPE, EVENT_INSTANT);
	pb_varint(b, EVENT_CATEGORY_IIDS, FORMAT_OWN_CATEGORY_IID);
	pb_varint(b, EVENT_NAME_IID, name);
	return opened;
}

/* step: ns since the lane's last packet */
static void linked_close(struct writer_lane *lane, struct linked_event opened, uint64_t step)
{
	struct pb_buffer *b = &lane->packets->scratch;

	pb_close(b, opened.event);
	pb_varint(b, PACKET_TIMESTAMP, step);
	pb_close(b, opened.packet);
	packets_add(lane->packets);
}

static void linked_begin(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	uint32_t kernel = record_kernel(&lane->process->tables, args);
	uint32_t name = kernel ? FORMAT_N_KERNEL + kernel : format_brick_name(r->brick);
	uint8_t fields[96];

	if (!intern_kernel(lane, args))
		return;
	if (kernel)
		names_brick_value(&lane->names, r->brick);
	else
		names_brick(&lane->names, r->brick);
	if (r->source != BRICK_SOURCE_TSC)
		names_source(&lane->names, r->source);
	if (r->flags & BRICK_FLAG_SITE)
		template_of_site(lane, r->site);
	if (lane->packets->error)
		return;
	uint64_t step = lane_advance(lane, ns);
	lane->begin_ns = lane->last_ns;
	struct linked_event opened = linked_open(lane);
	pb_bytes(b, fields, begin_put(fields, lane, r, name));
	put_launched(lane, args);
	put_command(lane, r, args);
	if (args->launch.kind) {
		put_arrows(lane, args);
		put_dependencies(lane, args);
	}
	linked_close(lane, opened, step);
	if (kernel && is_of_gpu(lane)) {
		uint64_t end_ns = writer_ns(lane->process, r->begin + r->ticks);
		gpu_stage(
			&lane->stages, args, end_ns > lane->begin_ns ? end_ns - lane->begin_ns : 0);
	}
}

/*
 * Two instants may come before the end. The commands that a slice with others inside launched are
 * known at its end and shown at its begin. An arrow leads to the begin of a slice, but most waits
 * began before the command that they waited for: their arrow leads to an instant at their end.
 */
static void linked_end(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	bool closes = r->kind == BRICK_RECORD_CLOSE, waited = closes || !args->launch.kind;
	struct linked_event opened;
	uint8_t fields[96];

	if (closes && !intern_kernel(lane, args))
		return;
	if (closes && args->flow_count && !names_event(&lane->names, FORMAT_N_LAUNCHED)) {
		opened = linked_open_instant(lane, FORMAT_N_LAUNCHED);
		put_launched(lane, args);
		pb_close(b, opened.event);
		pb_varint(b, PACKET_TIMESTAMP, lane->begin_ns);
		pb_varint(b, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_MONOTONIC);
		pb_close(b, opened.packet);
		packets_add(lane->packets);
	}
	uint64_t step = lane_advance(lane, ns);
	if (waited && args->dependency_count && !names_event(&lane->names, FORMAT_N_WAITED)) {
		opened = linked_open_instant(lane, FORMAT_N_WAITED);
		put_arrows(lane, args);
		linked_close(lane, opened, step);
		step = 0;
	}
	opened = linked_open(lane);
	pb_bytes(b, fields, end_put(fields, lane, r, args->work.kind ? &args->work : NULL));
	if (args->tile.kind)
		put_tile(lane, &args->tile);
	if (closes)
		put_command(lane, NULL, args);
	if (waited)
		put_dependencies(lane, args);
	linked_close(lane, opened, step);
	lane->pairs++;
}

/*
 * Records that are no slice of known place and length: instants, executions that the program timed
 * itself, counters, losses, threads that take over a lane.
 */

static void instant_lay(struct writer_lane *lane, const struct brick_record *r, uint32_t category,
	uint32_t name, const uint8_t *annotations, unsigned bytes)
{
	uint8_t fields[128];
	unsigned n = pb_put_field(fields, EVENT_TYPE, EVENT_INSTANT);

	if (category)
		n += pb_put_field(fields + n, EVENT_CATEGORY_IIDS, category);
	n += pb_put_field(fields + n, EVENT_NAME_IID, name);
	for (unsigned i = 0; i < bytes; i++)
		fields[n++] = annotations[i];
	slice_lay(lane, writer_ns(lane->process, r->begin), GAP_BYTES, fields, n, NULL);
}

/* One of the lane's bricks. */
static void instant_of_brick(struct writer_lane *lane, const struct brick_record *r,
	const uint8_t *annotations, unsigned bytes)
{
	if (!names_brick(&lane->names, r->brick))
		instant_lay(lane, r, slice_category(lane->process, r->brick),
			format_brick_name(r->brick), annotations, bytes);
}

/* One of Brick's own. */
static void instant_of_own(struct writer_lane *lane, const struct brick_record *r, uint32_t name,
	const uint8_t *annotations, unsigned bytes)
{
	if (!names_event(&lane->names, name))
		instant_lay(lane, r, FORMAT_OWN_CATEGORY_IID, name, annotations, bytes);
}

/*
 * A step's counters are read at its end and drawn from its begin: a value holds until the next one.
 * So the packet has an absolute time, and the lane's clock stays where it is.
 */
static void lane_counter(struct writer_lane *lane, const struct brick_record *r)
{
	uint64_t ns = writer_ns(lane->process, r->begin);
	bool of_step = lane->step_ns && counter_unit(step_counters, lane->process, r->brick);

	if (counter_track(lane, r->brick))
		return;
	uint8_t *at = packets_end(lane->packets);
	uint64_t behind = ns > lane->last_ns ? ns - lane->last_ns : 0;
	unsigned n = slice_open(at, lane->packets, of_step ? lane->step_ns : lane_advance(lane, ns),
			 GAP_BYTES),
		 body;
	n += slice_common(at + n, lane->sequence);
	body = n++;
	n += pb_put_field(at + n, EVENT_TYPE, EVENT_COUNTER);
	n += pb_put_field(at + n, EVENT_TRACK_UUID, lane->process->counter_uuids[r->brick]);
	n += pb_put_varint(at + n, PB_TAG(EVENT_DOUBLE_COUNTER, PB_FIXED64));
	for (int i = 0; i < 8; i++)
		at[n++] = (uint8_t)(r->elements >> (8 * i));
	if (of_step)
		n += slice_annotation(at + n, FORMAT_A_BEHIND, ANNOTATION_UINT, behind);
	at[body] = (uint8_t)(n - body - 1);
	if (of_step)
		n += pb_put_field(at + n, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_MONOTONIC);
	packet_laid(lane->packets, n, 0, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
}

static unsigned put_sequence(uint8_t *at, const struct brick_sequence_record *r)
{
	bool of_tokens = r->event == BRICK_SEQUENCE_TOKENS,
	     is_long = brick_sequence_has_number(r->event);
	unsigned n = slice_annotation(at, FORMAT_A_MODEL, ANNOTATION_UINT, r->model);

	if (r->event != BRICK_SEQUENCE_FREED)
		n += slice_annotation(
			at + n, FORMAT_A_SEQUENCE, ANNOTATION_INT, (uint64_t)(int64_t)r->sequence);
	if (of_tokens)
		n += slice_annotation(at + n, FORMAT_A_TOKENS, ANNOTATION_UINT, r->tokens);
	if (of_tokens && r->prompt)
		n += slice_annotation(at + n, FORMAT_A_PROMPT, ANNOTATION_UINT, r->prompt);
	if (r->event == BRICK_SEQUENCE_COPIED || r->event == BRICK_SEQUENCE_MOVED ||
		r->event == BRICK_SEQUENCE_BLOCK)
		n += slice_annotation(at + n, FORMAT_A_OTHER, ANNOTATION_INT,
			(uint64_t)(int64_t)(int32_t)r->tokens);
	if (is_long)
		return n + slice_annotation(at + n, FORMAT_A_NUMBER, ANNOTATION_UINT, r->number);
	if (r->position >= 0)
		n += slice_annotation(
			at + n, FORMAT_A_POSITION, ANNOTATION_INT, (uint64_t)r->position);
	if (of_tokens && r->end > 0)
		n += slice_annotation(at + n, FORMAT_A_RESULTS, ANNOTATION_UINT, (uint64_t)r->end);
	if (!of_tokens && r->end >= 0)
		n += slice_annotation(
			at + n, FORMAT_A_POSITIONS_END, ANNOTATION_INT, (uint64_t)r->end);
	return n;
}

static unsigned put_expert(uint8_t *at, const struct brick_expert_record *r)
{
	unsigned n =
		slice_annotation(at, FORMAT_A_EXPERT, ANNOTATION_INT, (uint64_t)(int64_t)r->expert);

	if (r->tokens)
		n += slice_annotation(at + n, FORMAT_A_TOKENS, ANNOTATION_UINT, r->tokens);
	n += slice_annotation(at + n, FORMAT_A_EXPERTS, ANNOTATION_UINT, r->experts);
	return n + slice_annotation(at + n, FORMAT_A_BYTES, ANNOTATION_UINT, r->bytes);
}

/* The site must be described. */
static unsigned put_memory(
	uint8_t *at, const struct writer_lane *lane, const struct brick_memory_record *r)
{
	unsigned n = slice_annotation(at, FORMAT_A_MEMORY, ANNOTATION_UINT, r->memory);

	if (r->site) {
		uint8_t member[8];
		n += put_site_field(at + n, member,
			pb_put_field(member, FORMAT_S_SITE, lane->process->sites[r->site].site));
	}
	if (r->gpu)
		n += slice_annotation(at + n, FORMAT_A_GPU, ANNOTATION_UINT, r->gpu);
	n += slice_annotation(at + n, FORMAT_A_LIVE, ANNOTATION_UINT, r->live_bytes);
	return n + slice_annotation(at + n, FORMAT_A_PEAK, ANNOTATION_UINT, r->peak_bytes);
}

/*
 * A message leads from the begin of the call that sent it to the end of the call that received it.
 * Both ends make the same id, each in its own process, and maybe in its own recording.
 */
static void put_message_flow(const struct writer_lane *lane, const struct brick_message_record *r)
{
	bool is_sent = r->event == BRICK_MESSAGE_SENT;
	int32_t own = lane->process->rank;
	uint64_t sender = (uint32_t)(is_sent ? own : r->peer);
	uint64_t receiver = (uint32_t)(is_sent ? r->peer : own);

	if (own >= 0 && r->peer >= 0 && r->number)
		put_flow_id(lane, is_sent ? EVENT_FLOWS : EVENT_TERMINATING_FLOWS,
			hash_add(hash_add(hash_add(FORMAT_MESSAGE_HASH, r->communicator),
					 sender << 32 | receiver),
				(uint64_t)(uint32_t)r->tag << 32 | r->number));
}

static void lane_message(struct writer_lane *lane, const struct brick_message_record *r)
{
	struct pb_buffer *b = &lane->packets->scratch;
	uint32_t name = FORMAT_N_MESSAGE + r->event;
	bool is_collective = r->event == BRICK_MESSAGE_COLLECTIVE;

	if (names_event(&lane->names, name))
		return;
	struct linked_event opened = linked_open_instant(lane, (enum format_event_name)name);
	if (r->peer >= 0)
		annotate(b, FORMAT_A_PEER, ANNOTATION_INT, (uint64_t)r->peer);
	if (!is_collective)
		annotate(b, FORMAT_A_TAG, ANNOTATION_INT, (uint64_t)(int64_t)r->tag);
	annotate(b, FORMAT_A_COMMUNICATOR, ANNOTATION_UINT, r->communicator);
	if (r->number)
		annotate(b, FORMAT_A_NUMBER, ANNOTATION_UINT, r->number);
	annotate(b, FORMAT_A_BYTES, ANNOTATION_UINT, brick_message_bytes(r));
	if (!is_collective)
		put_message_flow(lane, r);
	pb_close(b, opened.event);
	pb_varint(b, PACKET_TIMESTAMP,
		r->event == BRICK_MESSAGE_RECEIVED || r->event == BRICK_MESSAGE_RECEIVED_ANY
			? lane->last_ns
			: lane->begin_ns);
	pb_varint(b, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_MONOTONIC);
	pb_close(b, opened.packet);
	packets_add(lane->packets);
}

/* The result of a record. A full chunk goes to the file. */
static int lane_written(struct writer_lane *lane)
{
	if (lane->packets->chunk_size >= CHUNK_BYTES)
		packets_send(lane->packets);
	return lane->packets->error;
}

int writer_lane_instant(struct writer_lane *lane, const struct brick_record *r)
{
	uint8_t annotations[96];

	switch (r->kind) {
	case BRICK_RECORD_THREAD:
		if (r->elements != lane->track_tid && lane_take_over(lane, r->elements))
			break;
		if (r->elements == lane->tid)
			break;
		lane->tid = r->elements;
		instant_of_own(lane, r, FORMAT_N_THREAD, annotations,
			slice_annotation(annotations, FORMAT_A_TID, ANNOTATION_UINT, r->elements));
		break;
	case BRICK_RECORD_NAME: {
		char name[sizeof(lane->name)];
		memcpy(name, lane->name, sizeof(name));
		brick_name_read(r, name);
		writer_lane_name(lane, name);
		break;
	}
	case BRICK_RECORD_DROP:
		instant_of_own(lane, r, FORMAT_N_DROPPED, annotations,
			slice_annotation(
				annotations, FORMAT_A_COUNT, ANNOTATION_UINT, r->elements));
		break;
	case BRICK_RECORD_INSTANT:
		instant_of_brick(lane, r, NULL, 0);
		break;
	case BRICK_RECORD_REPORTED: /* its length is known, but not when it ran */
		instant_of_brick(lane, r, annotations,
			slice_annotation(annotations, FORMAT_A_REPORTED, ANNOTATION_UINT,
				(uint64_t)r->wait << 32 | r->ticks));
		break;
	case BRICK_RECORD_SEQUENCE: {
		const struct brick_sequence_record sequence = record_sequence(r);
		instant_of_own(lane, r, FORMAT_N_SEQUENCE + sequence.event, annotations,
			put_sequence(annotations, &sequence));
		break;
	}
	case BRICK_RECORD_EXPERT: {
		struct brick_expert_record expert;
		record_expert(r, &expert);
		instant_of_own(
			lane, r, FORMAT_N_EXPERT, annotations, put_expert(annotations, &expert));
		break;
	}
	case BRICK_RECORD_MEMORY: {
		struct brick_memory_record memory;
		record_memory(r, &memory);
		if (memory.site < lane->process->site_count || !names_sites(lane->process))
			instant_of_own(lane, r, FORMAT_N_MEMORY, annotations,
				put_memory(annotations, lane, &memory));
		break;
	}
	case BRICK_RECORD_MESSAGE: {
		struct brick_message_record message;
		record_message(r, &message);
		lane_message(lane, &message);
		break;
	}
	default:
		lane_counter(lane, r);
		break;
	}
	return lane_written(lane);
}

int writer_lane_late(struct writer_lane *lane, const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;
	const struct brick_record *work = &args->work;

	if (!intern_kernel(lane, args) || names_event(&lane->names, FORMAT_N_WORK))
		return lane_written(lane);
	struct linked_event opened = linked_open_instant(lane, FORMAT_N_WORK);
	if (work->kind && work->begin)
		annotate(b, FORMAT_A_BYTES, ANNOTATION_UINT, work->begin);
	if (work->kind && work->elements)
		annotate(b, FORMAT_A_FLOPS, ANNOTATION_UINT, work->elements);
	put_launched(lane, args);
	put_command(lane, NULL, args); /* where the slice began is still known */
	if (args->tile.kind)
		put_tile(lane, &args->tile);
	put_arrows(lane, args);
	put_dependencies(lane, args);
	linked_close(lane, opened, 0);
	return lane_written(lane);
}

/*
 * Slices. The recorder competes with the profiled program for its cores, so a sample with a site is
 * two copies of a template and two timestamps.
 */

/*
 * A slice of a site that was not used recently differs only in its layer from one of the layer
 * before, and in all else from the slice before it.
 */
static inline void begin_from_template(
	struct writer_lane *lane, struct packet_template *t, uint64_t ns)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_advance(lane, ns), GAP_BYTES);
	uint32_t like = distance_back(p, n, &t->last), other = DEFLATE_SAME;

	memcpy(at + n, t->bytes, sizeof(t->bytes));
	if (like == DEFLATE_UNKNOWN) {
		other = distance_back(p, n, &lane->last_begin);
		struct packet_template *sibling =
			t->sibling ? template_place(lane, t->sibling) : NULL;
		like = sibling ? distance_back(p, n, &sibling->last) : DEFLATE_UNKNOWN;
		if (like == DEFLATE_UNKNOWN)
			like = other;
	}
	t->last = lane->last_begin = packet_laid(p, n, t->length, like, other);
}

static inline __attribute__((always_inline)) void end_plain(
	struct writer_lane *lane, uint64_t ns, packet_place *last)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_advance(lane, ns), LENGTH_BYTES);

	memcpy(at + n, lane->end_tail, sizeof(lane->end_tail));
	packet_laid_again(p, n, lane->end_tail_bytes, last);
	lane->pairs++;
}

static void end_annotated(
	struct writer_lane *lane, uint64_t ns, const uint8_t *fields, unsigned bytes)
{
	slice_lay(lane, ns, LENGTH_BYTES, fields, bytes, &lane->last_annotated_end);
	lane->pairs++;
}

/*
 * Also in linked_begin(), all names that the begin refers to are said before it. False: the writer
 * has failed. args: NULL when there are none.
 */
static bool slice_begin(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct packet_template *t = NULL;
	uint8_t fields[128];

	if (args && r->kind == BRICK_RECORD_SAMPLE && (args->launch.kind || args->flow_count)) {
		linked_begin(lane, r, args, ns);
		return !lane->packets->error;
	}
	if (r->source == BRICK_SOURCE_TSC && !record_is_step(r))
		t = begin_has_site(r) ? template_of_site(lane, r->site)
				      : template_of_layer(lane, r);
	/* an execution of a site is not always one of the site's own brick */
	if (t && t->brick == r->brick) {
		begin_from_template(lane, t, ns);
	} else if (!lane->packets->error && !names_brick(&lane->names, r->brick) &&
		   (r->source == BRICK_SOURCE_TSC || !names_source(&lane->names, r->source)) &&
		   (!begin_has_site(r) || template_of_site(lane, r->site))) {
		unsigned n = begin_put(fields, lane, r, format_brick_name(r->brick));
		slice_lay(lane, ns, GAP_BYTES, fields, n, &lane->last_annotated_begin);
	}
	lane->begin_ns = lane->last_ns;
	return !lane->packets->error;
}

static void slice_end(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	const struct brick_record *work = args && args->work.kind ? &args->work : NULL;
	bool closes = r->kind == BRICK_RECORD_CLOSE;
	uint8_t fields[96];

	if (args && (args->tile.kind || (closes && (args->launch.kind || args->flow_count)) ||
			    (args->dependency_count && !args->launch.kind)))
		linked_end(lane, r, args, ns);
	else if (!work && (!r->flags || (r->flags == BRICK_FLAG_SITE && !r->inner && !closes)))
		end_plain(lane, ns, &lane->last_end);
	else
		end_annotated(lane, ns, fields, end_put(fields, lane, r, work));
}

/* The wait right behind a sample. */
static void wait_behind(struct writer_lane *lane, uint64_t end_ticks)
{
	struct packets *p = lane->packets;
	struct packet_template *t = &lane->wait_begin;
	uint8_t fields[16];

	if (!t->length && !template_make(lane, t, BRICK_BARRIER_WAIT, fields,
				  begin_put_names(fields, lane, BRICK_BARRIER_WAIT,
					  format_brick_name(BRICK_BARRIER_WAIT))))
		return;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, 0, GAP_BYTES);
	memcpy(at + n, t->bytes, sizeof(t->bytes));
	packet_laid_again(p, n, t->length, &t->last);
	end_plain(lane, writer_ns(lane->process, end_ticks), &lane->last_wait_end);
}

/* Both packets of a slice, in a plain file, where packets need not resemble each other. */
static inline void slice_plain(struct writer_lane *lane, const struct packet_template *t,
	uint64_t begin_ns, uint64_t end_ns)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_advance(lane, begin_ns), GAP_BYTES);

	lane->begin_ns = lane->last_ns;
	memcpy(at + n, t->bytes, sizeof(t->bytes));
	at[1] = (uint8_t)(n + t->length - 2);
	at += n + t->length;
	n = slice_open(at, p, lane_advance(lane, end_ns), LENGTH_BYTES);
	memcpy(at + n, lane->end_tail, sizeof(lane->end_tail));
	at[1] = (uint8_t)(n + lane->end_tail_bytes - 2);
	p->chunk_size = (size_t)(at + n + lane->end_tail_bytes - p->chunk);
	lane->pairs++;
}

/* The template of a sample about which only its site is known, as of most; else NULL. */
static inline struct packet_template *bare_sample(const struct writer_lane *lane,
	const struct brick_record *r, const struct record_args *args)
{
	if (args || r->flags != BRICK_FLAG_SITE || r->inner || r->source != BRICK_SOURCE_TSC ||
		record_is_step(r))
		return NULL;
	struct packet_template *t = template_place(lane, r->site);
	return t && t->length && t->brick == r->brick ? t : NULL;
}

int writer_lane_sample(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	uint64_t end = r->begin + r->ticks;
	uint64_t begin_ns = writer_ns(lane->process, r->begin);
	uint64_t end_ns = writer_ns(lane->process, end);
	struct packet_template *bare = bare_sample(lane, r, args);

	if (bare && !lane->packets->deflater) {
		slice_plain(lane, bare, begin_ns, end_ns);
	} else if (bare) {
		begin_from_template(lane, bare, begin_ns);
		lane->begin_ns = lane->last_ns;
		end_plain(lane, end_ns, &lane->last_end);
	} else {
		if (!slice_begin(lane, r, args, begin_ns))
			return lane->packets->error;
		slice_end(lane, r, args, end_ns);
	}
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	if (r->wait && BRICK_BARRIER_WAIT < lane->process->tables.brick_count)
		wait_behind(lane, end + r->wait);
	return lane_written(lane);
}

int writer_lane_open(struct writer_lane *lane, const struct brick_record *r)
{
	if (slice_begin(lane, r, NULL, writer_ns(lane->process, r->begin)))
		lane->open_ns[lane->rules.depth] = lane->begin_ns;
	lane->step_ns = 0;
	return lane_written(lane);
}

int writer_lane_close(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	if (r->flags & BRICK_FLAG_SITE && !template_of_site(lane, r->site))
		return lane->packets->error;
	lane->begin_ns = lane->open_ns[lane->rules.depth - 1];
	slice_end(lane, r, args, writer_ns(lane->process, r->begin));
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	return lane_written(lane);
}

int writer_lane_unwind(struct writer_lane *lane, uint32_t frames, enum lane_unwind why)
{
	uint64_t ns = writer_ns(lane->process, lane->rules.last_ticks);
	uint8_t fields[16];
	unsigned n = pb_put_field(fields, EVENT_TYPE, EVENT_END);

	n += slice_annotation(fields + n, why == LANE_OPEN ? FORMAT_A_OPEN : FORMAT_A_UNWOUND,
		ANNOTATION_BOOL, 1);
	lane->open_frames += why == LANE_OPEN ? frames : 0;
	for (uint32_t i = 0; i < frames; i++)
		end_annotated(lane, ns, fields, n);
	return lane_written(lane);
}

int writer_lane_wait(struct writer_lane *lane, const struct brick_record *r)
{
	if (slice_begin(lane, r, NULL, writer_ns(lane->process, r->begin)))
		end_plain(lane, writer_ns(lane->process, r->begin + r->elements),
			&lane->last_wait_end);
	return lane_written(lane);
}

/*
 * The times off the CPU of a lane's threads: slices on tracks of their own, one below each
 * thread's. They have a sequence of their own, because the kernel reports them later than the
 * lane's records come. No slice overlaps another, though two threads that owned the lane in turns
 * may.
 */

static uint32_t off_cpu_sequence(const struct writer_lane *lane)
{
	return FORMAT_OFF_CPU_SEQUENCE + lane->number;
}

/* Makes the thread's track that of the intervals that follow. */
static int off_cpu_track(struct writer_lane *lane, uint64_t ns, uint64_t tid)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t owner = lane->former.count, packet;
	bool is_first = !lane->off_cpu_ns;

	/* a thread that had the lane before any track was made gets the first place */
	if (tid != lane->track_tid)
		while (owner && lane->former.items[--owner] != tid)
			;
	if (!is_first && owner == lane->off_cpu_owner)
		return 0;
	uint64_t uuid = owner_uuid(lane, UUID_OFF_CPU, owner);
	lane->off_cpu_owner = owner;
	b->size = 0;
	if (is_first) {
		lane->off_cpu_ns = ns;
		packet = packet_open(b, off_cpu_sequence(lane), SEQUENCE_STATE_CLEARED);
		sequence_defaults(b, uuid);
		size_t interned = pb_open(b, PACKET_INTERNED_DATA);
		names_entry(b, INTERNED_CATEGORIES, FORMAT_OWN_CATEGORY_IID, FORMAT_CATEGORY,
			strlen(FORMAT_CATEGORY));
		names_entry(b, INTERNED_EVENT_NAMES, FORMAT_N_BLOCKED, FORMAT_BLOCKED,
			strlen(FORMAT_BLOCKED));
		names_entry(b, INTERNED_EVENT_NAMES, FORMAT_N_PREEMPTED, FORMAT_PREEMPTED,
			strlen(FORMAT_PREEMPTED));
		pb_close(b, interned);
		packets_clock_snapshot(lane->packets, ns, true);
		pb_close(b, packet);
	}
	packet = packet_open(b, off_cpu_sequence(lane), SEQUENCE_NEEDS_STATE);
	sequence_defaults(b, uuid);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, uuid);
	pb_varint(b, TRACK_PARENT_UUID, owner_uuid(lane, UUID_LANE, owner));
	pb_string(b, TRACK_NAME, FORMAT_OFF_CPU, strlen(FORMAT_OFF_CPU));
	pb_varint(b, TRACK_SIBLING_MERGE, SIBLING_MERGE_NONE);
	pb_close(b, track);
	pb_close(b, packet);
	return packets_add(lane->packets);
}

/* Lays one end of a slice; `fields` of its event. */
static void off_cpu_lay(struct writer_lane *lane, const uint8_t *fields, unsigned bytes,
	uint64_t ns, packet_place *last)
{
	if (lane->packets->chunk_size > CHUNK_BYTES && packets_send(lane->packets))
		return;
	uint8_t *at = packets_end(lane->packets);
	unsigned head = slice_open(at, lane->packets, ns - lane->off_cpu_ns, GAP_BYTES);
	unsigned n = head + slice_common(at + head, off_cpu_sequence(lane));
	at[n++] = (uint8_t)bytes;
	memcpy(at + n, fields, bytes);
	lane->off_cpu_ns = ns;
	packet_laid_again(lane->packets, head, n + bytes - head, last);
}

int writer_lane_off_cpu(
	struct writer_lane *lane, const struct sink_off_cpu *intervals, size_t count)
{
	for (size_t i = 0; i < count && !lane->packets->error; i++) {
		const struct sink_off_cpu *o = &intervals[i];
		uint64_t begin_ns = o->begin_ns > lane->off_cpu_ns ? o->begin_ns : lane->off_cpu_ns;
		uint8_t fields[24];
		if (begin_ns >= o->end_ns || off_cpu_track(lane, begin_ns, o->tid))
			continue;
		unsigned n = pb_put_field(fields, EVENT_TYPE, EVENT_BEGIN);
		n += pb_put_field(fields + n, EVENT_CATEGORY_IIDS, FORMAT_OWN_CATEGORY_IID);
		n += pb_put_field(fields + n, EVENT_NAME_IID,
			o->preempted ? FORMAT_N_PREEMPTED : FORMAT_N_BLOCKED);
		off_cpu_lay(lane, fields, n, begin_ns, &lane->off_cpu_begin[o->preempted != 0]);
		n = pb_put_field(fields, EVENT_TYPE, EVENT_END);
		off_cpu_lay(lane, fields, n, o->end_ns, &lane->off_cpu_end);
	}
	return lane->packets->error;
}

struct writer_lane *writer_lane_create(struct writer_process *process, uint32_t process_number,
	uint32_t number, const struct brick_lane *state, uint64_t *bad)
{
	struct writer_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->packets = process->packets;
	lane->process = process;
	lane->rules.bad = bad;
	lane->process_number = process_number;
	lane->number = number;
	lane->sequence = FORMAT_LANE_SEQUENCE + number;
	lane->names.packets = lane->packets;
	lane->names.process = process;
	lane->names.sequence = lane->sequence;
	lane->kind = state->kind;
	lane->tid = lane->track_tid = state->tid;
	lane->start_ticks = state->start_ticks;
	lane->uuid = packets_uuid(lane->packets, UUID_LANE, number);
	memcpy(lane->name, state->name, sizeof(lane->name));
	memcpy(lane->backend, state->backend, sizeof(lane->backend));
	lane->queue_flags = state->queue_flags;
	gpu_stages_init(&lane->stages, &lane->names, lane->backend, sizeof(lane->backend));
	unsigned n = slice_common(lane->end_tail, lane->sequence);
	lane->end_tail[n++] = 2;
	lane->end_tail_bytes = n + pb_put_field(lane->end_tail + n, EVENT_TYPE, EVENT_END);
	return lane;
}

void writer_lane_destroy(struct writer_lane *lane)
{
	if (!lane)
		return;
	for (uint32_t i = 0; i < lane->site_pages_capacity; i++)
		free(lane->site_pages[i]);
	free(lane->site_pages);
	array_fini(&lane->former);
	gpu_stages_fini(&lane->stages);
	array_fini(&lane->plain.entries);
	hashmap_fini(&lane->plain.by_brick);
	free(lane);
}
