/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the packets of a lane's sequence from its records, in which nothing is trusted.
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

/* Time of a lane never runs back, whatever the clock's calibrations do. */
static inline uint64_t lane_step(struct writer_lane *lane, uint64_t ns)
{
	uint64_t delta = ns > lane->last_ns ? ns - lane->last_ns : 0;

	lane->last_ns += delta;
	return delta;
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

static void lane_first_packet(const struct writer_lane *lane, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = packet_open(b, lane->sequence, SEQUENCE_STATE_CLEARED);
	sequence_defaults(b, lane->uuid);
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < sizeof(annotation_names) / sizeof(*annotation_names); i++)
		names_entry(b, INTERNED_ANNOTATION_NAMES, i + 1u, annotation_names[i],
			strlen(annotation_names[i]));
	pb_close(b, interned);
	packets_clock_snapshot(lane->packets, ns, true);
	pb_close(b, packet);
}

static void describe_thread(struct pb_buffer *b, const struct writer_lane *lane)
{
	char name[3 * sizeof(lane->name)];
	size_t size = tables_text(name, sizeof(name), lane->name, sizeof(lane->name));
	size_t thread = pb_open(b, TRACK_THREAD);

	pb_varint(b, THREAD_PID, lane->process->pid);
	pb_varint(b, THREAD_TID, lane->track_tid);
	if (size)
		pb_string(b, THREAD_NAME, name, size);
	pb_close(b, thread);
}

static size_t writer_lane_queue_name(char *name, size_t capacity, const struct writer_lane *lane)
{
	size_t size = 0;

	if (lane->backend[0]) {
		size = tables_text(name, capacity, lane->backend, sizeof(lane->backend));
		size += tables_text(name + size, capacity - size, ": ", 2);
	}
	return size + tables_text(name + size, capacity - size, lane->name, sizeof(lane->name));
}

/* Two queues may have one name, and yet stay two. */
static void describe_queue(struct pb_buffer *b, const struct writer_lane *lane)
{
	char name[3 * (sizeof(lane->name) + sizeof(lane->backend))];

	pb_string(b, TRACK_NAME, name, writer_lane_queue_name(name, sizeof(name), lane));
	pb_varint(b, TRACK_SIBLING_MERGE, SIBLING_MERGE_NONE);
}

static bool is_of_gpu(const struct writer_lane *lane)
{
	return lane->kind == BRICK_LANE_QUEUE &&
	       strncmp(lane->backend, BRICK_HOST_BACKEND, sizeof(lane->backend)) != 0;
}

/* The queue as Perfetto's GPU views know it. */
static void intern_queue(struct pb_buffer *b, const struct writer_lane *lane)
{
	char name[3 * (sizeof(lane->name) + sizeof(lane->backend))];
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);

	gpu_stages_intern(&lane->stages, name, writer_lane_queue_name(name, sizeof(name), lane));
	pb_close(b, interned);
}

/* Writes the lane's track, and makes it the track of the packets that follow. */
static void lane_track(const struct writer_lane *lane)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = packet_open(b, lane->sequence, SEQUENCE_NEEDS_STATE);
	sequence_defaults(b, lane->uuid);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, lane->uuid);
	pb_varint(b, TRACK_PARENT_UUID, lane->process->uuid);
	if (lane->kind == BRICK_LANE_THREAD)
		describe_thread(b, lane);
	else
		describe_queue(b, lane);
	pb_close(b, track);
	if (is_of_gpu(lane))
		intern_queue(b, lane);
	pb_close(b, packet);
}

static int start_sequence(struct writer_lane *lane, uint64_t ns)
{
	if (is_of_gpu(lane))
		lane->names.gpu = gpu_list_use(lane->process->gpus, lane->packets,
			lane->process->number, brick_queue_gpu(lane->queue_flags));
	lane->packets->scratch.size = 0;
	lane_first_packet(lane, ns);
	lane_track(lane);
	lane->started = true;
	lane->last_ns = ns;
	return packets_add(lane->packets);
}

static uint64_t owner_uuid(const struct writer_lane *lane, uint64_t kind, size_t owner)
{
	return packets_uuid(lane->packets, kind, lane->number + ((uint64_t)owner << 32));
}

static int writer_lane_take_over(struct writer_lane *lane, uint64_t tid)
{
	if (array_push(&lane->former, lane->track_tid))
		return packets_fail(lane->packets, -ENOMEM);
	lane->track_tid = tid;
	lane->name[0] = 0;
	lane->uuid = owner_uuid(lane, UUID_LANE, lane->former.count);
	lane->packets->scratch.size = 0;
	lane_track(lane);
	return packets_add(lane->packets);
}

int writer_lane_name(struct writer_lane *lane, const char *name)
{
	if (!strncmp(lane->name, name, sizeof(lane->name)))
		return lane->packets->error;
	memcpy(lane->name, name, sizeof(lane->name));
	lane->packets->scratch.size = 0;
	lane_track(lane);
	return packets_add(lane->packets);
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
static uint32_t writer_lane_unit_of(
	const struct known_counter *list, const struct writer_process *process, uint32_t brick)
{
	const struct brick_session_brick *entry = &process->tables.bricks[brick];

	while (list->name && strncmp(entry->name, list->name, sizeof(entry->name)))
		list++;
	return list->unit;
}

static uint32_t step_counter_unit(const struct writer_process *process, uint32_t brick)
{
	return writer_lane_unit_of(step_counters, process, brick);
}

/* A counter is one track per process and brick. */
static int counter_track(struct writer_lane *lane, uint32_t brick)
{
	struct writer_process *process = lane->process;
	struct pb_buffer *b = &lane->packets->scratch;
	char name[3 * sizeof(process->tables.bricks->name)];
	uint32_t step = step_counter_unit(process, brick);
	uint32_t unit = step ? step : writer_lane_unit_of(token_counters, process, brick);

	if (!process->counter_uuids)
		process->counter_uuids = calloc(BRICK_MAX_BRICKS, sizeof(*process->counter_uuids));
	if (!process->counter_uuids)
		return packets_fail(lane->packets, -ENOMEM);
	if (process->counter_uuids[brick])
		return lane->packets->error;
	process->counter_uuids[brick] = packets_uuid(lane->packets, UUID_COUNTER,
		(uint64_t)lane->process_number * BRICK_MAX_BRICKS + brick);
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
 * Templates: the packet that begins a slice, without its timestamp, for a site, or for a brick in a
 * layer. A lane makes each once and copies it from then on. Making one also writes all names in it.
 */

enum { MIN_TABLE = 64 };

static unsigned template_begin(
	uint8_t *at, const struct writer_lane *lane, const uint8_t *what, unsigned what_bytes)
{
	unsigned n = slice_common(at, lane->sequence);

	at[n++] = (uint8_t)(2 + what_bytes);
	n += pb_put_field(at + n, EVENT_TYPE, EVENT_BEGIN);
	memcpy(at + n, what, what_bytes);
	return n + what_bytes;
}

static unsigned writer_lane_put_names(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name)
{
	uint32_t category = slice_category(lane->process, brick);
	unsigned n = category ? pb_put_field(at, EVENT_CATEGORY_IIDS, category) : 0;

	return n + pb_put_field(at + n, EVENT_NAME_IID, name);
}

static unsigned template_layer_what(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name, int32_t layer)
{
	unsigned n = writer_lane_put_names(at, lane, brick, name);

	if (layer != -1)
		n += slice_annotation(
			at + n, FORMAT_A_LAYER, ANNOTATION_INT, (uint64_t)(int64_t)layer);
	if (brick == BRICK_BARRIER_WAIT)
		n += slice_annotation(at + n, FORMAT_A_ALONE, ANNOTATION_BOOL, 1);
	return n;
}

/* The fields that a message of FORMAT_SITE_FIELD has; its tag and length take three bytes. */
static unsigned site_field(uint8_t *at, const uint8_t *members, unsigned bytes)
{
	unsigned n = pb_put_varint(at, PB_TAG(FORMAT_SITE_FIELD, PB_LENGTH));

	at[n++] = (uint8_t)bytes;
	memcpy(at + n, members, bytes);
	return n + bytes;
}

static unsigned template_site_end(uint8_t *at, const struct writer_lane *lane, uint32_t site)
{
	uint8_t members[8];

	return site_field(
		at, members, pb_put_field(members, FORMAT_S_SITE, lane->process->sites[site].site));
}

static unsigned template_site_what(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name, uint32_t site)
{
	const struct brick_session_site *entry = &lane->process->tables.sites[site];
	const struct site_numbers *numbers = &lane->process->sites[site];
	uint8_t members[32];
	unsigned n = 0;

	if (entry->label[0])
		n = pb_put_field(members, FORMAT_S_TENSOR, numbers->tensor);
	if (entry->layer != -1)
		n += pb_put_field(members + n, FORMAT_S_LAYER, (uint64_t)(int64_t)entry->layer);
	n += pb_put_field(members + n, FORMAT_S_SITE, numbers->site);
	if (entry->operation[0])
		n += pb_put_field(members + n, FORMAT_S_OPERATION, numbers->operation);
	unsigned named = site_field(at, members, n);
	return named + writer_lane_put_names(at + named, lane, brick, name);
}

static int writer_lane_make(struct writer_lane *lane, struct packet_template *t, uint32_t brick,
	const uint8_t *what, unsigned what_bytes)
{
	uint8_t bytes[128];

	if (names_brick(&lane->names, brick))
		return lane->packets->error;
	unsigned n = template_begin(bytes, lane, what, what_bytes);
	if (n > sizeof(t->bytes))
		return packets_fail(lane->packets, -EOVERFLOW);
	memcpy(t->bytes, bytes, n);
	t->length = (uint16_t)n;
	t->brick = (uint16_t)brick;
	t->last = 0;
	return 0;
}

/* Where the site's template is; NULL: its page was not made. */
static inline struct packet_template *site_template(const struct writer_lane *lane, uint32_t site)
{
	uint32_t number = site / SITES_A_PAGE;
	struct packet_template *page =
		number < lane->site_pages_capacity ? lane->site_pages[number] : NULL;

	return page ? &page[site % SITES_A_PAGE] : NULL;
}

/* A program has thousands of sites and may have thousands of lanes, each of which meets few. */
static struct packet_template *make_site_page(struct writer_lane *lane, uint32_t site)
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
	return site_template(lane, site);
}

static struct packet_template *template_site(struct writer_lane *lane, uint32_t site)
{
	uint8_t what[64];
	uint32_t brick = lane->process->tables.sites[site].brick;

	struct packet_template *t = site_template(lane, site);
	if (!t && !(t = make_site_page(lane, site))) {
		packets_fail(lane->packets, -ENOMEM);
		return NULL;
	}
	if (t->length)
		return t;
	if (site >= lane->process->site_count && names_sites(lane->process))
		return NULL;
	t->sibling = lane->process->sites[site].sibling;
	unsigned n = template_site_what(what, lane, brick, format_brick_name(brick), site);
	return writer_lane_make(lane, t, brick, what, n) ? NULL : t;
}

/* The template of a key, perhaps not made yet; NULL: failed. */
static struct packet_template *writer_lane_find(
	struct writer_lane *lane, struct template_table *table, uint64_t key)
{
	uint64_t at = hashmap_get(&table->by_brick, key);

	if (at != HASHMAP_NONE)
		return &table->entries.items[at];
	if (array_push(&table->entries, (struct packet_template){0}) ||
		hashmap_set(&table->by_brick, key, table->entries.count - 1)) {
		packets_fail(lane->packets, -ENOMEM);
		return NULL;
	}
	return &table->entries.items[table->entries.count - 1];
}

static struct packet_template *template_plain(
	struct writer_lane *lane, uint32_t brick, int32_t layer)
{
	uint8_t what[32];
	struct packet_template *t = writer_lane_find(
		lane, &lane->plain, (uint64_t)brick << 16 | (uint16_t)(int16_t)layer);

	if (!t || t->length)
		return t;
	unsigned n = template_layer_what(what, lane, brick, format_brick_name(brick), layer);
	return writer_lane_make(lane, t, brick, what, n) ? NULL : t;
}

static struct packet_template *template_wait(struct writer_lane *lane)
{
	const uint32_t brick = BRICK_BARRIER_WAIT;
	struct packet_template *t = &lane->wait_begin;
	uint8_t what[16];

	if (t->length)
		return t;
	return writer_lane_make(lane, t, brick, what,
		       writer_lane_put_names(what, lane, brick, format_brick_name(brick)))
		       ? NULL
		       : t;
}

static unsigned writer_lane_end_annotations(uint8_t *at, const struct writer_lane *lane,
	const struct brick_record *r, const struct brick_record *work)
{
	unsigned n = 0;

	if (r->flags & BRICK_FLAG_SITE) {
		if (r->kind == BRICK_RECORD_CLOSE)
			n += template_site_end(at + n, lane, r->site);
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

/* True if a begin, or an end, takes more than a template; args may be NULL. */
static inline bool args_at_begin(const struct brick_record *r, const struct record_args *args)
{
	return args && r->kind == BRICK_RECORD_SAMPLE && (args->launch.kind || args->flow_count);
}

static inline bool args_at_end(const struct brick_record *r, const struct record_args *args)
{
	if (!args)
		return false;
	if (args->tile.kind ||
		(r->kind == BRICK_RECORD_CLOSE && (args->launch.kind || args->flow_count)))
		return true;
	return args->dependency_count && !args->launch.kind;
}

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

static void put_flow(const struct writer_lane *lane, uint32_t field, uint64_t number)
{
	uint64_t id = lane->process->flow_base + number;
	uint8_t bytes[8];

	if (!number || number >> FORMAT_FLOW_BITS)
		return;
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(id >> (8 * i));
	uint8_t tag[4];
	pb_bytes(&lane->packets->scratch, tag, pb_put_varint(tag, PB_TAG(field, PB_FIXED64)));
	pb_bytes(&lane->packets->scratch, bytes, sizeof(bytes));
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
static bool takes_arrow(struct writer_process *process, uint64_t number)
{
	if (!process->arrows)
		process->arrows = calloc(WRITER_ARROWS, sizeof(*process->arrows));
	if (!process->arrows || !number)
		return false;
	uint64_t *slot = &process->arrows[number % WRITER_ARROWS];
	bool is_first = *slot != number;
	*slot = number;
	return is_first;
}

static void put_arrows(const struct writer_lane *lane, const struct record_args *args)
{
	uint64_t waited[RECORD_LINKS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < args->dependency_count; i++)
		if (takes_arrow(lane->process, args->dependencies[i]))
			waited[count++] = args->dependencies[i];
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

static bool intern_slice(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	if (!intern_kernel(lane, args))
		return false;
	if (record_kernel(&lane->process->tables, args))
		names_brick_value(&lane->names, r->brick);
	else
		names_brick(&lane->names, r->brick);
	if (r->source != BRICK_SOURCE_TSC)
		names_source(&lane->names, r->source);
	if (r->flags & BRICK_FLAG_SITE)
		template_site(lane, r->site);
	return !lane->packets->error;
}

struct opened {
	size_t packet, event;
};

static struct opened writer_lane_open_event(const struct writer_lane *lane, uint32_t type)
{
	struct pb_buffer *b = &lane->packets->scratch;
	struct opened opened;

	b->size = 0;
	opened.packet = packet_open(b, lane->sequence, SEQUENCE_NEEDS_STATE);
	opened.event = pb_open(b, PACKET_TRACK_EVENT);
	pb_varint(b, EVENT_TYPE, type);
	return opened;
}

static void packet_close(struct writer_lane *lane, struct opened opened, uint64_t step)
{
	struct pb_buffer *b = &lane->packets->scratch;

	pb_close(b, opened.event);
	pb_varint(b, PACKET_TIMESTAMP, step);
	pb_close(b, opened.packet);
	packets_add(lane->packets);
}

static void write_stage(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	uint64_t end_ns = writer_ns(lane->process, r->begin + r->ticks);

	gpu_stage(&lane->stages, args, end_ns > lane->begin_ns ? end_ns - lane->begin_ns : 0);
}

static void args_begin(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	uint32_t kernel = record_kernel(&lane->process->tables, args);
	uint8_t annotations[64];

	if (!intern_slice(lane, r, args))
		return;
	uint64_t step = lane_step(lane, ns);
	lane->begin_ns = lane->last_ns;
	struct opened opened = writer_lane_open_event(lane, EVENT_BEGIN);
	uint32_t name = kernel ? FORMAT_N_KERNEL + kernel : format_brick_name(r->brick);
	pb_bytes(b, annotations,
		r->flags & BRICK_FLAG_SITE
			? template_site_what(annotations, lane, r->brick, name, r->site)
			: template_layer_what(annotations, lane, r->brick, name, r->layer));
	if (record_is_step(r))
		annotate(b, FORMAT_A_TOKENS, ANNOTATION_UINT, record_tokens(r));
	if (record_is_step(r) && record_output_tokens(r))
		annotate(b, FORMAT_A_OUTPUT_TOKENS, ANNOTATION_UINT, record_output_tokens(r));
	if (r->source != BRICK_SOURCE_TSC)
		annotate(b, FORMAT_A_SOURCE, ANNOTATION_STRING_IID, FORMAT_SOURCE_IID + r->source);
	put_launched(lane, args);
	put_command(lane, r, args);
	if (args->launch.kind) {
		put_arrows(lane, args);
		put_dependencies(lane, args);
	}
	packet_close(lane, opened, step);
	if (kernel && is_of_gpu(lane))
		write_stage(lane, r, args);
}

static struct opened instant_open(const struct writer_lane *lane, enum format_event_name name)
{
	struct opened opened = writer_lane_open_event(lane, EVENT_INSTANT);

	pb_varint(&lane->packets->scratch, EVENT_CATEGORY_IIDS, FORMAT_OWN_CATEGORY_IID);
	pb_varint(&lane->packets->scratch, EVENT_NAME_IID, name);
	return opened;
}

/*
 * An arrow leads to the begin of a slice. Most waits began before the command that they waited for,
 * so their arrow leads to an instant at their end.
 */
static uint64_t writer_lane_write_waited(
	struct writer_lane *lane, const struct record_args *args, uint64_t step)
{
	if (!args->dependency_count || names_event(&lane->names, FORMAT_N_WAITED))
		return step;
	struct opened opened = instant_open(lane, FORMAT_N_WAITED);
	put_arrows(lane, args);
	packet_close(lane, opened, step);
	return 0;
}

/* The commands that a slice with others inside launched: known at its end, shown at its begin. */
static void write_launched(struct writer_lane *lane, const struct record_args *args)
{
	if (!args->flow_count || names_event(&lane->names, FORMAT_N_LAUNCHED))
		return;
	struct opened opened = instant_open(lane, FORMAT_N_LAUNCHED);
	put_launched(lane, args);
	pb_close(&lane->packets->scratch, opened.event);
	pb_varint(&lane->packets->scratch, PACKET_TIMESTAMP, lane->begin_ns);
	pb_varint(&lane->packets->scratch, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_MONOTONIC);
	pb_close(&lane->packets->scratch, opened.packet);
	packets_add(lane->packets);
}

static void args_end(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	bool closes = r->kind == BRICK_RECORD_CLOSE;
	uint8_t annotations[96];

	if (closes && !intern_kernel(lane, args))
		return;
	if (closes)
		write_launched(lane, args);
	uint64_t step = lane_step(lane, ns);
	if (closes || !args->launch.kind)
		step = writer_lane_write_waited(lane, args, step);
	struct opened opened = writer_lane_open_event(lane, EVENT_END);
	pb_bytes(b, annotations,
		writer_lane_end_annotations(
			annotations, lane, r, args->work.kind ? &args->work : NULL));
	if (args->tile.kind)
		put_tile(lane, &args->tile);
	if (closes)
		put_command(lane, NULL, args);
	if (closes || !args->launch.kind)
		put_dependencies(lane, args);
	packet_close(lane, opened, step);
	lane->pairs++;
}

/* An instant carries it; where the slice began is still known. */
static void args_late(struct writer_lane *lane, const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;
	const struct brick_record *work = &args->work;

	if (!intern_kernel(lane, args) || names_event(&lane->names, FORMAT_N_WORK))
		return;
	struct opened opened = instant_open(lane, FORMAT_N_WORK);
	if (work->kind && work->begin)
		annotate(b, FORMAT_A_BYTES, ANNOTATION_UINT, work->begin);
	if (work->kind && work->elements)
		annotate(b, FORMAT_A_FLOPS, ANNOTATION_UINT, work->elements);
	put_launched(lane, args);
	put_command(lane, NULL, args);
	if (args->tile.kind)
		put_tile(lane, &args->tile);
	put_arrows(lane, args);
	put_dependencies(lane, args);
	packet_close(lane, opened, 0);
}

/*
 * Records that are no slice of known place and length: instants, executions that the program timed
 * itself, counters, losses, threads that take over a lane.
 */

/* An instant of the lane: one of its bricks, or one of Brick's own with an annotation or two. */
static void writer_lane_instant(struct writer_lane *lane, uint32_t category, uint32_t name,
	const uint8_t *annotations, unsigned annotation_bytes, uint64_t ns)
{
	uint8_t *at = packets_end(lane->packets);
	unsigned n = slice_open(at, lane->packets, lane_step(lane, ns), GAP_BYTES), body;

	n += slice_common(at + n, lane->sequence);
	body = n++;
	n += pb_put_field(at + n, EVENT_TYPE, EVENT_INSTANT);
	if (category)
		n += pb_put_field(at + n, EVENT_CATEGORY_IIDS, category);
	n += pb_put_field(at + n, EVENT_NAME_IID, name);
	for (unsigned i = 0; i < annotation_bytes; i++)
		at[n++] = annotations[i];
	at[body] = (uint8_t)(n - body - 1);
	packet_laid(lane->packets, n, 0, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
}

static void write_own_instant(struct writer_lane *lane, uint32_t name, const uint8_t *annotations,
	unsigned annotation_bytes, uint64_t ns)
{
	if (!names_event(&lane->names, name))
		writer_lane_instant(
			lane, FORMAT_OWN_CATEGORY_IID, name, annotations, annotation_bytes, ns);
}

static void write_thread(struct writer_lane *lane, const struct brick_record *r)
{
	uint8_t annotation[24];

	if (r->elements != lane->track_tid && writer_lane_take_over(lane, r->elements))
		return;
	if (r->elements == lane->tid)
		return;
	lane->tid = r->elements;
	write_own_instant(lane, FORMAT_N_THREAD, annotation,
		slice_annotation(annotation, FORMAT_A_TID, ANNOTATION_UINT, r->elements),
		writer_ns(lane->process, r->begin));
}

static void writer_lane_write_name(struct writer_lane *lane, const struct brick_record *r)
{
	char name[sizeof(lane->name)];

	memcpy(name, lane->name, sizeof(name));
	brick_name_read(r, name);
	writer_lane_name(lane, name);
}

static void write_drop(struct writer_lane *lane, const struct brick_record *r)
{
	uint8_t annotation[24];

	write_own_instant(lane, FORMAT_N_DROPPED, annotation,
		slice_annotation(annotation, FORMAT_A_COUNT, ANNOTATION_UINT, r->elements),
		writer_ns(lane->process, r->begin));
}

static void write_instant(struct writer_lane *lane, const struct brick_record *r)
{
	if (names_brick(&lane->names, r->brick))
		return;
	writer_lane_instant(lane, slice_category(lane->process, r->brick),
		format_brick_name(r->brick), NULL, 0, writer_ns(lane->process, r->begin));
}

/* An execution whose length is known, but not when it ran: it was reported here. */
static void write_reported(struct writer_lane *lane, const struct brick_record *r)
{
	uint8_t annotation[24];

	if (names_brick(&lane->names, r->brick))
		return;
	writer_lane_instant(lane, slice_category(lane->process, r->brick),
		format_brick_name(r->brick), annotation,
		slice_annotation(annotation, FORMAT_A_REPORTED, ANNOTATION_UINT,
			(uint64_t)r->wait << 32 | r->ticks),
		writer_ns(lane->process, r->begin));
}

/*
 * A step's counters are read at its end and drawn from its begin: a value holds until the next one.
 * So the packet has an absolute time, and the lane's clock stays where it is.
 */
static void write_counter(struct writer_lane *lane, const struct brick_record *r)
{
	uint64_t ns = writer_ns(lane->process, r->begin);
	bool of_step = lane->step_ns && step_counter_unit(lane->process, r->brick);

	if (counter_track(lane, r->brick))
		return;
	uint8_t *at = packets_end(lane->packets);
	uint64_t behind = ns > lane->last_ns ? ns - lane->last_ns : 0;
	unsigned n = slice_open(at, lane->packets, of_step ? lane->step_ns : lane_step(lane, ns),
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

static unsigned sequence_annotations(uint8_t *at, const struct brick_sequence_record *r)
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

static void write_sequence(struct writer_lane *lane, const struct brick_record *r)
{
	const struct brick_sequence_record sequence = record_sequence(r);
	uint8_t annotations[96];

	write_own_instant(lane, FORMAT_N_SEQUENCE + sequence.event, annotations,
		sequence_annotations(annotations, &sequence), writer_ns(lane->process, r->begin));
}

static void write_expert(struct writer_lane *lane, const struct brick_record *r)
{
	struct brick_expert_record expert;
	uint8_t annotations[64];
	unsigned n;

	record_expert(r, &expert);
	n = slice_annotation(
		annotations, FORMAT_A_EXPERT, ANNOTATION_INT, (uint64_t)(int64_t)expert.expert);
	if (expert.tokens)
		n += slice_annotation(
			annotations + n, FORMAT_A_TOKENS, ANNOTATION_UINT, expert.tokens);
	n += slice_annotation(annotations + n, FORMAT_A_EXPERTS, ANNOTATION_UINT, expert.experts);
	n += slice_annotation(annotations + n, FORMAT_A_BYTES, ANNOTATION_UINT, expert.bytes);
	write_own_instant(
		lane, FORMAT_N_EXPERT, annotations, n, writer_ns(lane->process, r->begin));
}

static void write_instant_record(struct writer_lane *lane, const struct brick_record *r)
{
	switch (r->kind) {
	case BRICK_RECORD_THREAD:
		write_thread(lane, r);
		break;
	case BRICK_RECORD_NAME:
		writer_lane_write_name(lane, r);
		break;
	case BRICK_RECORD_DROP:
		write_drop(lane, r);
		break;
	case BRICK_RECORD_INSTANT:
		write_instant(lane, r);
		break;
	case BRICK_RECORD_REPORTED:
		write_reported(lane, r);
		break;
	case BRICK_RECORD_SEQUENCE:
		write_sequence(lane, r);
		break;
	case BRICK_RECORD_EXPERT:
		write_expert(lane, r);
		break;
	default:
		write_counter(lane, r);
		break;
	}
}

/*
 * Records become packets. The recorder competes with the profiled program for its cores, so a
 * sample with a site is two copies of a template and two timestamps.
 */

/*
 * A slice of a site that was not used recently differs only in its layer from one of the layer
 * before, and in all else from the slice before it.
 */
static inline void begin_from(struct writer_lane *lane, struct packet_template *t, uint64_t ns)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_step(lane, ns), GAP_BYTES);
	uint32_t like = distance_back(p, n, &t->last), other = DEFLATE_SAME;

	memcpy(at + n, t->bytes, sizeof(t->bytes));
	if (like == DEFLATE_UNKNOWN) {
		other = distance_back(p, n, &lane->last_begin);
		struct packet_template *sibling =
			t->sibling ? site_template(lane, t->sibling) : NULL;
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
	unsigned n = slice_open(at, p, lane_step(lane, ns), LENGTH_BYTES);

	memcpy(at + n, lane->end_tail, sizeof(lane->end_tail));
	packet_laid_again(p, n, lane->end_tail_bytes, last);
	lane->pairs++;
}

static void end_annotated(struct writer_lane *lane, uint64_t ns, const uint8_t *annotations,
	unsigned annotation_bytes)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned head = slice_open(at, p, lane_step(lane, ns), LENGTH_BYTES);
	unsigned n = head + slice_common(at + head, lane->sequence);

	at[n++] = (uint8_t)(2 + annotation_bytes);
	n += pb_put_field(at + n, EVENT_TYPE, EVENT_END);
	memcpy(at + n, annotations, annotation_bytes);
	lane->last_annotated_end = packet_laid(p, head, n + annotation_bytes - head,
		distance_back(p, head, &lane->last_annotated_end), DEFLATE_UNKNOWN);
	lane->pairs++;
}

static void writer_lane_end_slice(struct writer_lane *lane, uint64_t ns,
	const struct brick_record *r, const struct record_args *args)
{
	const struct brick_record *work = args && args->work.kind ? &args->work : NULL;
	uint8_t annotations[96];

	if (args_at_end(r, args)) {
		args_end(lane, r, args, ns);
		return;
	}
	if (!work && !(r->flags & ~BRICK_FLAG_SITE) &&
		(!(r->flags & BRICK_FLAG_SITE) || (!r->inner && r->kind != BRICK_RECORD_CLOSE))) {
		end_plain(lane, ns, &lane->last_end);
		return;
	}
	end_annotated(
		lane, ns, annotations, writer_lane_end_annotations(annotations, lane, r, work));
}

/* A begin with more than a template holds: tokens, a source. */
static void begin_annotated(struct writer_lane *lane, const struct brick_record *r, uint64_t ns)
{
	uint8_t annotations[96], *at;
	unsigned n = 0;

	if (names_brick(&lane->names, r->brick))
		return;
	if (r->source != BRICK_SOURCE_TSC && names_source(&lane->names, r->source))
		return;
	if (r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE) {
		if (!template_site(lane, r->site))
			return;
		n += template_site_what(
			annotations, lane, r->brick, format_brick_name(r->brick), r->site);
	} else {
		n += template_layer_what(
			annotations, lane, r->brick, format_brick_name(r->brick), r->layer);
	}
	if (record_is_step(r))
		n += slice_annotation(
			annotations + n, FORMAT_A_TOKENS, ANNOTATION_UINT, record_tokens(r));
	if (record_output_tokens(r))
		n += slice_annotation(annotations + n, FORMAT_A_OUTPUT_TOKENS, ANNOTATION_UINT,
			record_output_tokens(r));
	if (r->source != BRICK_SOURCE_TSC)
		n += slice_annotation(annotations + n, FORMAT_A_SOURCE, ANNOTATION_STRING_IID,
			FORMAT_SOURCE_IID + r->source);
	at = packets_end(lane->packets);
	unsigned head = slice_open(at, lane->packets, lane_step(lane, ns), GAP_BYTES);
	n = template_begin(at + head, lane, annotations, n);
	lane->last_annotated_begin = packet_laid(lane->packets, head, n,
		distance_back(lane->packets, head, &lane->last_annotated_begin), DEFLATE_UNKNOWN);
}

/* Begin a slice; the template is found, or made on first use. 0 when the writer has failed. */
static bool begin_slice(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct packet_template *t = NULL;
	bool plain = r->source == BRICK_SOURCE_TSC && !record_is_step(r);

	if (args_at_begin(r, args)) {
		args_begin(lane, r, args, ns);
		return !lane->packets->error;
	}
	if (plain && r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE)
		t = template_site(lane, r->site);
	else if (plain)
		t = template_plain(lane, r->brick, r->layer);
	/* an execution of a site is not always one of the site's own brick */
	if (t && t->brick == r->brick)
		begin_from(lane, t, ns);
	else if (!lane->packets->error)
		begin_annotated(lane, r, ns);
	lane->begin_ns = lane->last_ns;
	return !lane->packets->error;
}

static void writer_lane_write_wait(struct writer_lane *lane, uint64_t end_ticks)
{
	struct packet_template *t = template_wait(lane);

	if (!t)
		return;
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, 0, GAP_BYTES);
	memcpy(at + n, t->bytes, sizeof(t->bytes));
	packet_laid_again(p, n, t->length, &t->last);
	end_plain(lane, writer_ns(lane->process, end_ticks), &lane->last_wait_end);
}

/* A full chunk goes to the file. */
static int writer_lane_written(struct writer_lane *lane)
{
	if (lane->packets->chunk_size >= CHUNK_BYTES)
		packets_send(lane->packets);
	return lane->packets->error;
}

/* Both packets of a slice, in a plain file, where packets need not resemble each other. */
static inline void plain_pair(struct writer_lane *lane, const struct packet_template *t,
	uint64_t begin_ns, uint64_t end_ns)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_step(lane, begin_ns), GAP_BYTES);

	lane->begin_ns = lane->last_ns;
	memcpy(at + n, t->bytes, sizeof(t->bytes));
	at[1] = (uint8_t)(n + t->length - 2);
	at += n + t->length;
	n = slice_open(at, p, lane_step(lane, end_ns), LENGTH_BYTES);
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
	struct packet_template *t = site_template(lane, r->site);
	return t && t->length && t->brick == r->brick ? t : NULL;
}

/*
 * Records keep rules: slices nest, time never runs back, ids are in the tables. What breaks a rule
 * is counted and left out. Each function returns 1: it was written, 0: it breaks a rule, or the
 * error of the packets.
 */
static int bad_record(struct writer_lane *lane)
{
	(*lane->bad)++;
	return 0;
}

static int result_of(int error)
{
	return error < 0 ? error : 1;
}

static bool site_known(const struct tables *tables, const struct brick_record *r)
{
	return !(r->flags & BRICK_FLAG_SITE) ||
	       (r->site && r->site < tables->site_count &&
		       tables->sites[r->site].brick < tables->brick_count);
}

static int writer_lane_write_sample(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	uint64_t end = r->begin + r->ticks;

	if (r->begin < lane->last_ticks || end < r->begin || end + r->wait < end ||
		!site_known(&lane->process->tables, r))
		return bad_record(lane);
	lane->last_ticks = end;
	struct packet_template *bare = bare_sample(lane, r, args);
	if (bare && !lane->packets->deflater) {
		plain_pair(lane, bare, writer_ns(lane->process, r->begin),
			writer_ns(lane->process, end));
	} else if (bare) {
		begin_from(lane, bare, writer_ns(lane->process, r->begin));
		lane->begin_ns = lane->last_ns;
		end_plain(lane, writer_ns(lane->process, end), &lane->last_end);
	} else {
		if (!begin_slice(lane, r, args, writer_ns(lane->process, r->begin)))
			return result_of(lane->packets->error);
		writer_lane_end_slice(lane, writer_ns(lane->process, end), r, args);
	}
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	if (r->wait && BRICK_BARRIER_WAIT < lane->process->tables.brick_count)
		writer_lane_write_wait(lane, end + r->wait);
	return result_of(writer_lane_written(lane));
}

static int writer_lane_write_open(struct writer_lane *lane, const struct brick_record *r)
{
	if (r->begin < lane->last_ticks || lane->depth == BRICK_MAX_DEPTH)
		return bad_record(lane);
	if (begin_slice(lane, r, NULL, writer_ns(lane->process, r->begin)))
		lane->open_ns[lane->depth] = lane->begin_ns;
	lane->step_ns = 0;
	lane->open[lane->depth++] = r->brick;
	lane->last_ticks = r->begin;
	return result_of(writer_lane_written(lane));
}

/*
 * Frames above `depth` end without their CLOSE: their thread is gone (FORMAT_A_OPEN), or a frame
 * outside of them was closed (FORMAT_A_UNWOUND).
 */
static int writer_lane_unwind(struct writer_lane *lane, uint32_t depth, enum format_annotation why)
{
	uint32_t frames = lane->depth - depth;
	uint8_t annotation[8];

	if (!frames)
		return 0;
	unsigned n = slice_annotation(annotation, why, ANNOTATION_BOOL, 1);
	lane->open_frames += why == FORMAT_A_OPEN ? frames : 0;
	for (; lane->depth > depth; lane->depth--)
		end_annotated(lane, writer_ns(lane->process, lane->last_ticks), annotation, n);
	return writer_lane_written(lane);
}

/*
 * A close belongs to the innermost open brick. If closes of inner bricks were lost, it ends those,
 * too.
 */
static int writer_lane_write_close(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	uint32_t depth = lane->depth;

	while (depth && lane->open[depth - 1] != r->brick)
		depth--;
	if (!depth || r->begin < lane->last_ticks || !site_known(&lane->process->tables, r))
		return bad_record(lane);
	*lane->bad += lane->depth - depth;
	int error = writer_lane_unwind(lane, depth, FORMAT_A_UNWOUND);
	lane->depth--;
	lane->last_ticks = r->begin;
	if (error || (r->flags & BRICK_FLAG_SITE && !template_site(lane, r->site)))
		return result_of(lane->packets->error);
	lane->begin_ns = lane->open_ns[lane->depth];
	writer_lane_end_slice(lane, writer_ns(lane->process, r->begin), r, args);
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	return result_of(writer_lane_written(lane));
}

static int write_wait_record(struct writer_lane *lane, const struct brick_record *r)
{
	uint64_t end = r->begin + r->elements;

	if (r->begin < lane->last_ticks || end < r->begin)
		return bad_record(lane);
	if (begin_slice(lane, r, NULL, writer_ns(lane->process, r->begin)))
		end_plain(lane, writer_ns(lane->process, end), &lane->last_wait_end);
	lane->last_ticks = end;
	return result_of(writer_lane_written(lane));
}

static int writer_lane_take_instant(struct writer_lane *lane, const struct brick_record *r)
{
	if (r->begin < lane->last_ticks)
		return bad_record(lane);
	bool is_handover = r->kind == BRICK_RECORD_THREAD, is_left = is_handover && !r->elements;
	if (is_left) /* else nobody knows when it was */
		lane->last_ticks = r->begin;
	int error = is_handover ? writer_lane_unwind(lane, 0, FORMAT_A_OPEN) : 0;
	lane->last_ticks = r->begin;
	if (!error && !is_left) {
		write_instant_record(lane, r);
		error = writer_lane_written(lane);
	}
	return result_of(error);
}

static inline int writer_lane_take_record(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	if (r->kind == BRICK_RECORD_SEQUENCE) /* a layout of its own */
		return record_sequence(r).event < BRICK_SEQUENCE_EVENTS
			       ? writer_lane_take_instant(lane, r)
			       : bad_record(lane);
	if (r->kind == BRICK_RECORD_EXPERT) {
		struct brick_expert_record expert;
		return record_expert(r, &expert) ? writer_lane_take_instant(lane, r)
						 : bad_record(lane);
	}
	if (r->source >= FORMAT_SOURCE_COUNT ||
		(r->brick >= lane->process->tables.brick_count && r->kind != BRICK_RECORD_THREAD &&
			r->kind != BRICK_RECORD_DROP))
		return bad_record(lane);
	switch (r->kind) {
	case BRICK_RECORD_SAMPLE:
		return writer_lane_write_sample(lane, r, args);
	case BRICK_RECORD_OPEN:
		return writer_lane_write_open(lane, r);
	case BRICK_RECORD_CLOSE:
		return writer_lane_write_close(lane, r, args);
	case BRICK_RECORD_WAIT:
		return write_wait_record(lane, r);
	case BRICK_RECORD_THREAD:
	case BRICK_RECORD_NAME:
	case BRICK_RECORD_DROP:
	case BRICK_RECORD_INSTANT:
	case BRICK_RECORD_REPORTED:
	case BRICK_RECORD_COUNTER:
		return writer_lane_take_instant(lane, r);
	default:
		return bad_record(lane);
	}
}

/*
 * A record that may have args is held back until the next one shows that there are none; args that
 * come later still (after a flush) are written on their own.
 */
static bool writer_lane_takes_args(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE || r->kind == BRICK_RECORD_CLOSE;
}

int writer_lane_release(struct writer_lane *lane)
{
	struct brick_record r = lane->held;

	if (!r.kind)
		return 0;
	lane->held.kind = 0;
	int result = writer_lane_take_record(lane, &r, lane->args.records ? &lane->args : NULL);
	lane->ended = result > 0;
	if (!result)
		*lane->bad += lane->args.records;
	return result < 0 ? result : 0;
}

static void writer_lane_hold_back(struct writer_lane *lane, const struct brick_record *r)
{
	struct record_args *args = &lane->args;

	lane->held = *r;
	args->work.kind = args->launch.kind = args->times.kind = args->tile.kind = 0;
	args->records = args->flow_count = args->dependency_count = 0;
}

/* More about the slice before it, which is held back or was written already. */
static int writer_lane_take_arg(struct writer_lane *lane, const struct brick_record *r)
{
	struct record_args late = {.records = 0};

	if (lane->held.kind && record_arg_add(&lane->args, r))
		return 0;
	int error = writer_lane_release(lane);
	if (error)
		return error;
	if (!lane->ended)
		return bad_record(lane);
	record_arg_add(&late, r);
	args_late(lane, &late);
	return writer_lane_written(lane);
}

/* The lane's time begins with its thread, or with a record of an earlier thread. */
static uint64_t first_ns(const struct writer_lane *lane, const struct brick_record *first)
{
	uint64_t ticks = lane->start_ticks;

	if (!record_is_arg(first) && (!ticks || first->begin < ticks))
		ticks = first->begin;
	return writer_ns(lane->process, ticks);
}

int writer_lane_records(struct writer_lane *lane, const struct brick_record *records, size_t count)
{
	if (!lane->started && records->kind == BRICK_RECORD_THREAD &&
		records->elements != lane->tid) {
		lane->track_tid = records->elements; /* there has been another one since */
		lane->name[0] = 0;
	}
	if (!lane->started && start_sequence(lane, first_ns(lane, records)))
		return lane->packets->error;
	for (size_t i = 0; i < count && !lane->packets->error; i++) {
		struct brick_record r = records[i];
		if (record_is_arg(&r)) {
			writer_lane_take_arg(lane, &r);
		} else if (!lane->held.kind || !writer_lane_release(lane)) {
			if (writer_lane_takes_args(&r) &&
				(i + 1 == count || record_is_arg(&records[i + 1]))) {
				writer_lane_hold_back(lane, &r);
				continue;
			}
			lane->ended = writer_lane_take_record(lane, &r, NULL) > 0 &&
				      writer_lane_takes_args(&r);
		}
	}
	return lane->packets->error;
}

/*
 * The times off the CPU of a lane's threads: slices on tracks of their own, one below each
 * thread's. They have a sequence of their own, because the kernel reports them later than the
 * lane's records come. No slice overlaps another, though two threads that owned the lane in turns
 * may.
 */

static uint32_t writer_lane_off_cpu_sequence(const struct writer_lane *lane)
{
	return FORMAT_OFF_CPU_SEQUENCE + lane->number;
}

static void writer_lane_own_name(
	struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text)
{
	names_entry(b, field, iid, text, strlen(text));
}

/* The packet that describes those behind it. */
static size_t open_off_cpu_packet(const struct writer_lane *lane, uint64_t flags, uint64_t uuid)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = packet_open(b, writer_lane_off_cpu_sequence(lane), flags);
	sequence_defaults(b, uuid);
	return packet;
}

static void off_cpu_first_packet(const struct writer_lane *lane, uint64_t uuid)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = open_off_cpu_packet(lane, SEQUENCE_STATE_CLEARED, uuid);
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);
	writer_lane_own_name(b, INTERNED_CATEGORIES, FORMAT_OWN_CATEGORY_IID, FORMAT_CATEGORY);
	writer_lane_own_name(b, INTERNED_EVENT_NAMES, FORMAT_N_BLOCKED, FORMAT_BLOCKED);
	writer_lane_own_name(b, INTERNED_EVENT_NAMES, FORMAT_N_PREEMPTED, FORMAT_PREEMPTED);
	pb_close(b, interned);
	packets_clock_snapshot(lane->packets, lane->off_cpu_ns, true);
	pb_close(b, packet);
}

static void off_cpu_track(const struct writer_lane *lane, uint64_t uuid)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = open_off_cpu_packet(lane, SEQUENCE_NEEDS_STATE, uuid);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, uuid);
	pb_varint(b, TRACK_PARENT_UUID, owner_uuid(lane, UUID_LANE, lane->off_cpu_owner));
	pb_string(b, TRACK_NAME, FORMAT_OFF_CPU, strlen(FORMAT_OFF_CPU));
	pb_varint(b, TRACK_SIBLING_MERGE, SIBLING_MERGE_NONE);
	pb_close(b, track);
	pb_close(b, packet);
}

/*
 * The thread's place among those that had the lane. A thread that had it before any track was made
 * gets the first place.
 */
static size_t writer_lane_owner_of(const struct writer_lane *lane, uint64_t tid)
{
	size_t owner = lane->former.count;

	if (tid == lane->track_tid)
		return owner;
	while (owner && lane->former.items[--owner] != tid)
		;
	return owner;
}

/* Makes that thread's track the one of the intervals that follow. */
static int start_off_cpu(struct writer_lane *lane, uint64_t ns, uint64_t tid)
{
	size_t owner = writer_lane_owner_of(lane, tid);
	uint64_t uuid = owner_uuid(lane, UUID_OFF_CPU, owner);
	bool is_first = !lane->off_cpu_ns;

	if (!is_first && owner == lane->off_cpu_owner)
		return 0;
	lane->off_cpu_owner = owner;
	lane->packets->scratch.size = 0;
	if (is_first) {
		lane->off_cpu_ns = ns;
		off_cpu_first_packet(lane, uuid);
	}
	off_cpu_track(lane, uuid);
	return packets_add(lane->packets);
}

/* One end of a slice; `fields` of its event. */
static void writer_lane_edge(struct writer_lane *lane, const uint8_t *fields, unsigned bytes,
	uint64_t ns, packet_place *last)
{
	if (lane->packets->chunk_size > CHUNK_BYTES && packets_send(lane->packets))
		return;
	uint8_t *at = packets_end(lane->packets);
	unsigned head = slice_open(at, lane->packets, ns - lane->off_cpu_ns, GAP_BYTES);
	unsigned n = head + slice_common(at + head, writer_lane_off_cpu_sequence(lane));
	at[n++] = (uint8_t)bytes;
	memcpy(at + n, fields, bytes);
	lane->off_cpu_ns = ns;
	packet_laid_again(lane->packets, head, n + bytes - head, last);
}

static void writer_lane_interval(struct writer_lane *lane, const struct sink_off_cpu *o)
{
	uint64_t begin_ns = o->begin_ns > lane->off_cpu_ns ? o->begin_ns : lane->off_cpu_ns;
	uint8_t fields[24];

	if (begin_ns >= o->end_ns || start_off_cpu(lane, begin_ns, o->tid))
		return;
	unsigned n = pb_put_field(fields, EVENT_TYPE, EVENT_BEGIN);
	n += pb_put_field(fields + n, EVENT_CATEGORY_IIDS, FORMAT_OWN_CATEGORY_IID);
	n += pb_put_field(
		fields + n, EVENT_NAME_IID, o->preempted ? FORMAT_N_PREEMPTED : FORMAT_N_BLOCKED);
	writer_lane_edge(lane, fields, n, begin_ns, &lane->off_cpu_begin[o->preempted != 0]);
	n = pb_put_field(fields, EVENT_TYPE, EVENT_END);
	writer_lane_edge(lane, fields, n, o->end_ns, &lane->off_cpu_end);
}

int writer_lane_off_cpu(
	struct writer_lane *lane, const struct sink_off_cpu *intervals, size_t count)
{
	for (size_t i = 0; i < count && !lane->packets->error; i++)
		writer_lane_interval(lane, &intervals[i]);
	return lane->packets->error;
}

static void make_end_tail(struct writer_lane *lane)
{
	unsigned n = slice_common(lane->end_tail, lane->sequence);

	lane->end_tail[n++] = 2;
	lane->end_tail_bytes = n + pb_put_field(lane->end_tail + n, EVENT_TYPE, EVENT_END);
}

struct writer_lane *writer_lane_create(struct writer_process *process, uint32_t process_number,
	uint32_t number, const struct brick_lane *state, uint64_t *bad)
{
	struct writer_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->packets = process->packets;
	lane->process = process;
	lane->bad = bad;
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
	make_end_tail(lane);
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
