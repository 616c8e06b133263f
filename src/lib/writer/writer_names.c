/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and sites on their way into a trace: interned data, and a descriptor of what sites are.
 */
#include "lib/writer/writer_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/array.h"

/*
 * Sites and kernels as JSON objects. Their text comes from a session: bytes of another process.
 * Nothing allocates.
 */
static size_t json_text(
	char *to, size_t capacity, const char *key, const char *from, size_t from_bytes)
{
	char text[256];
	size_t size = (size_t)snprintf(to, capacity, ",\"%s\":\"", key);

	tables_text(text, sizeof(text), from, from_bytes);
	for (const char *s = text; *s && size + 8 < capacity; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			to[size++] = '\\';
		if (c < 0x20)
			size += (size_t)snprintf(to + size, capacity - size, "\\u%04x", c);
		else
			to[size++] = (char)c;
	}
	to[size++] = '"';
	return size;
}

static size_t json_count(char *to, size_t capacity, const char *key, uint64_t value)
{
	return (size_t)snprintf(to, capacity, ",\"%s\":%" PRIu64, key, value);
}

static size_t json_triple(char *to, size_t capacity, const char *key, const uint32_t *triple)
{
	return (size_t)snprintf(to, capacity, ",\"%s\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", key,
		triple[0], triple[1], triple[2]);
}

/* capacity: at least 2048. Returns the length. */
static size_t kernel_json(char *to, size_t capacity, const struct brick_session_kernel *kernel)
{
	static const char *const kinds[] = FORMAT_KERNEL_KINDS;
	uint32_t kind = kernel->kind < FORMAT_KERNEL_KIND_COUNT ? kernel->kind : BRICK_KERNEL_OTHER;
	size_t size = (size_t)snprintf(to, capacity, "{\"kind\":\"%s\"", kinds[kind]);

	size += json_text(to + size, capacity - size, "name", kernel->name, sizeof(kernel->name));
	if (kernel->backend[0])
		size += json_text(to + size, capacity - size, "backend", kernel->backend,
			sizeof(kernel->backend));
	if (kernel->grid[0])
		size += json_triple(to + size, capacity - size, "grid", kernel->grid);
	if (kernel->block[0])
		size += json_triple(to + size, capacity - size, "block", kernel->block);
	if ((uint32_t)kernel->shared_bytes)
		size += json_count(
			to + size, capacity - size, "shared", (uint32_t)kernel->shared_bytes);
	if (kernel->registers)
		size += json_count(to + size, capacity - size, "registers", kernel->registers);
	if (kernel->code)
		size += (size_t)snprintf(
			to + size, capacity - size, ",\"code\":\"%016" PRIx64 "\"", kernel->code);
	to[size++] = '}';
	to[size] = 0;
	return size;
}

/* capacity: at least 1024. Returns the length. */
static size_t site_json(char *to, size_t capacity, const struct brick_session_site *site)
{
	size_t size = (size_t)snprintf(to, capacity, "{\"layer\":%d", site->layer);

	if (site->operation[0])
		size += json_text(
			to + size, capacity - size, "op", site->operation, sizeof(site->operation));
	if (site->label[0])
		size += json_text(
			to + size, capacity - size, "tensor", site->label, sizeof(site->label));
	if (site->flags & BRICK_SITE_HAS_ELEMENTS)
		size += json_count(to + size, capacity - size, "elements", site->elements);
	if (site->flags & BRICK_SITE_HAS_BYTES)
		size += json_count(to + size, capacity - size, "bytes", site->bytes);
	if (site->flags & BRICK_SITE_HAS_FLOPS)
		size += json_count(to + size, capacity - size, "flops", site->flops);
	if (site->flags & BRICK_SITE_UNKNOWN_OPERATION)
		size += (size_t)snprintf(to + size, capacity - size, ",\"unknown\":true");
	if (site->flags & BRICK_SITE_AT_MOST)
		size += (size_t)snprintf(to + size, capacity - size, ",\"at_most\":true");
	to[size++] = '}';
	to[size] = 0;
	return size;
}

void names_entry(struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text, size_t size)
{
	size_t entry = pb_open(b, field);

	pb_varint(b, ENTRY_IID, iid);
	pb_string(b, ENTRY_TEXT, text, size);
	pb_close(b, entry);
}

/* True if it was said before; from now on it is. */
static bool was_said(uint64_t *said, uint32_t index)
{
	uint64_t bit = 1ull << (index % 64);
	bool was = said[index / 64] & bit;

	said[index / 64] |= bit;
	return was;
}

/* A packet that only adds names, which are put between names_open() and names_close(). */
struct names_packet {
	size_t packet, interned;
};

static struct names_packet names_open(const struct lane_names *names)
{
	struct pb_buffer *b = &names->packets->scratch;
	struct names_packet packet;

	b->size = 0;
	packet.packet = packet_open(b, names->sequence, SEQUENCE_NEEDS_STATE);
	packet.interned = pb_open(b, PACKET_INTERNED_DATA);
	return packet;
}

static int names_close(struct lane_names *names, struct names_packet packet)
{
	pb_close(&names->packets->scratch, packet.interned);
	pb_close(&names->packets->scratch, packet.packet);
	return packets_add(names->packets);
}

static void writer_names_intern_category(struct lane_names *names, uint32_t category)
{
	const struct writer_process *process = names->process;
	char text[3 * sizeof(process->tables.categories->name)];

	if (category >= process->tables.category_count || names->categories >> category & 1)
		return;
	names->categories |= 1ull << category;
	size_t size = tables_text(text, sizeof(text), process->tables.categories[category].name,
		sizeof(process->tables.categories->name));
	names_entry(&names->packets->scratch, INTERNED_CATEGORIES, category + 1u, text, size);
}

/* The brick's name, and its category's. */
int names_brick(struct lane_names *names, uint32_t brick)
{
	const struct brick_session_brick *entry = &names->process->tables.bricks[brick];
	char text[3 * sizeof(entry->name)];

	if (was_said(names->bricks, brick))
		return names->packets->error;
	struct names_packet packet = names_open(names);
	size_t size = tables_text(text, sizeof(text), entry->name, sizeof(entry->name));
	names_entry(&names->packets->scratch, INTERNED_EVENT_NAMES, format_brick_name(brick), text,
		size);
	writer_names_intern_category(names, entry->category);
	return names_close(names, packet);
}

int names_source(struct lane_names *names, uint32_t source)
{
	static const char *const sources[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	if (names->sources >> source & 1)
		return names->packets->error;
	names->sources |= 1u << source;
	struct names_packet packet = names_open(names);
	names_entry(&names->packets->scratch, INTERNED_STRING_VALUES, FORMAT_SOURCE_IID + source,
		sources[source], strlen(sources[source]));
	return names_close(names, packet);
}

/* The brick's name as a value, and its category's, for slices that a kernel names. */
int names_brick_value(struct lane_names *names, uint32_t brick)
{
	const struct brick_session_brick *entry = &names->process->tables.bricks[brick];
	char text[3 * sizeof(entry->name)];

	if (was_said(names->values, brick))
		return names->packets->error;
	struct names_packet packet = names_open(names);
	size_t size = tables_text(text, sizeof(text), entry->name, sizeof(entry->name));
	writer_names_intern_category(names, entry->category);
	names_entry(&names->packets->scratch, INTERNED_STRING_VALUES, format_brick_value(brick),
		text, size);
	return names_close(names, packet);
}

/* A stage of Perfetto's GPU views. */
static void stage_entry(
	struct pb_buffer *b, uint32_t iid, const char *text, size_t size, uint32_t kind)
{
	size_t entry = pb_open(b, INTERNED_GPU_NAMES);

	pb_varint(b, ENTRY_IID, iid);
	pb_string(b, ENTRY_TEXT, text, size);
	if (kind == BRICK_KERNEL_COMPUTE)
		pb_varint(b, STAGE_CATEGORY, STAGE_COMPUTE);
	pb_close(b, entry);
}

/* What Perfetto's compute views ask for under these names, in the order of enum compute_arg. */
static const char *const compute_args[] = {"workgroup_size", "grid_size", "thread_count",
	"registers_per_thread", "shared_mem_static", "shared_mem_dynamic", "shared_mem"};
enum compute_arg {
	GROUP_ITEMS = 1,
	GROUPS,
	ITEMS,
	REGISTERS,
	STATIC_SHARED,
	DYNAMIC_SHARED,
	ALL_SHARED,
};

static void compute_arg_names(struct lane_names *names)
{
	if (names->has_arg_names)
		return;
	names->has_arg_names = true;
	for (uint32_t i = 0; i < sizeof(compute_args) / sizeof(*compute_args); i++)
		names_entry(&names->packets->scratch, INTERNED_COMPUTE_ARGS, i + 1, compute_args[i],
			strlen(compute_args[i]));
}

static void compute_arg(struct pb_buffer *b, enum compute_arg name, uint64_t value)
{
	size_t arg = pb_open(b, COMPUTE_ARGS);

	pb_varint(b, ARG_NAME_IID, name);
	pb_varint(b, ARG_UINT, value);
	pb_close(b, arg);
}

static uint64_t writer_names_product(const uint32_t *sizes)
{
	return (uint64_t)sizes[0] * (sizes[1] ? sizes[1] : 1) * (sizes[2] ? sizes[2] : 1);
}

/* The launch's numbers, as far as they are known. Without a group's size, the grid is of items. */
static void compute_shape(struct pb_buffer *b, const struct brick_session_kernel *k)
{
	uint64_t groups = writer_names_product(k->grid), items = writer_names_product(k->block);

	if (items)
		compute_arg(b, GROUP_ITEMS, items);
	if (items && groups)
		compute_arg(b, GROUPS, groups);
	if (groups)
		compute_arg(b, ITEMS, groups * (items ? items : 1));
}

static void compute_memory(struct pb_buffer *b, const struct brick_session_kernel *k)
{
	uint32_t all = (uint32_t)k->shared_bytes, dynamic = (uint32_t)(k->shared_bytes >> 32);

	if (dynamic && dynamic - 1 <= all) {
		compute_arg(b, STATIC_SHARED, all - (dynamic - 1));
		compute_arg(b, DYNAMIC_SHARED, dynamic - 1);
	} else if (all) {
		compute_arg(b, ALL_SHARED, all);
	}
}

static void compute_entry(struct lane_names *names, uint32_t kernel, const char *text, size_t size)
{
	const struct brick_session_kernel *k = &names->process->tables.kernels[kernel];
	const char *runs = gpu_list_architecture(names->process->gpus, names->gpu);
	struct pb_buffer *b = &names->packets->scratch;

	compute_arg_names(names);
	size_t entry = pb_open(b, INTERNED_COMPUTE_KERNELS);
	pb_varint(b, ENTRY_IID, kernel);
	pb_string(b, ENTRY_TEXT, text, size);
	if (*runs)
		pb_string(b, COMPUTE_ARCHITECTURE, runs, strlen(runs));
	compute_shape(b, k);
	if (k->registers)
		compute_arg(b, REGISTERS, k->registers);
	compute_memory(b, k);
	pb_close(b, entry);
}

/* The kernel, and its name as that of slices. */
int names_kernel(struct lane_names *names, uint32_t kernel)
{
	const struct brick_session_kernel *entry = &names->process->tables.kernels[kernel];
	char text[2048];

	if (was_said(names->kernels, kernel))
		return names->packets->error;
	struct names_packet packet = names_open(names);
	size_t size = tables_text(text, sizeof(text), entry->name, sizeof(entry->name));
	names_entry(&names->packets->scratch, INTERNED_EVENT_NAMES, FORMAT_N_KERNEL + kernel, text,
		size);
	stage_entry(&names->packets->scratch, FORMAT_N_KERNEL + kernel, text, size, entry->kind);
	if (entry->kind == BRICK_KERNEL_COMPUTE)
		compute_entry(names, kernel, text, size);
	size = kernel_json(text, sizeof(text), entry);
	names_entry(&names->packets->scratch, INTERNED_STRING_VALUES, FORMAT_KERNEL_IID + kernel,
		text, size);
	return names_close(names, packet);
}

/* One of Brick's own instants: enum format_event_name. */
int names_event(struct lane_names *names, uint32_t name)
{
	static const char *const texts[] = {FORMAT_DROPPED, FORMAT_THREAD, FORMAT_WORK,
		FORMAT_BLOCKED, FORMAT_PREEMPTED, FORMAT_WAITED, FORMAT_LAUNCHED, FORMAT_SEQUENCES,
		[FORMAT_N_EXPERT - FORMAT_N_DROPPED] = FORMAT_EXPERT};
	uint32_t index = name - FORMAT_N_DROPPED;

	if (names->events >> index & 1)
		return names->packets->error;
	names->events |= 1u << index;
	struct names_packet packet = names_open(names);
	names_entry(&names->packets->scratch, INTERNED_EVENT_NAMES, name, texts[index],
		strlen(texts[index]));
	if (names->events == 1u << index)
		names_entry(&names->packets->scratch, INTERNED_CATEGORIES, FORMAT_OWN_CATEGORY_IID,
			FORMAT_CATEGORY, strlen(FORMAT_CATEGORY));
	return names_close(names, packet);
}

/*
 * What sites are, told once for all lanes: the trace describes a field of track events that is
 * Brick's own, and its texts as names of enums' values, so that a slice's begin tells each by a
 * number. Perfetto shows them like debug annotations. Sites are described in batches, before the
 * first slice of one: a description costs its reader more than a packet.
 */
enum { MAX_SITES_AT_ONCE = 128 }; /* in one packet, which must fit into a chunk */

struct batch {
	const struct writer_process *process;
	uint32_t first, end;
	uint32_t operations; /* that are known before */
};

/*
 * In a compressed file a site's number is its layer in the first seven bits, as a varint has them,
 * and how many of that layer came before in the others. What a packet says of a layer is then in
 * the packet before it, and what it says of a place in layers in that of the layer before; of its
 * tensor it is the other way round, so that layers are beside each other. Without compression small
 * numbers are all that counts.
 */
static int writer_names_number(struct writer_process *process, uint32_t site)
{
	struct site_numbers *n = &process->sites[site];
	uint32_t layer = (uint32_t)(process->tables.sites[site].layer + 1) % WRITER_LAYERS;

	if (!process->packets->deflater) {
		n->site = n->tensor = ++process->numbering->sites;
		return 0;
	}
	uint32_t place = ++process->numbering->of_layer[layer], low = place % WRITER_LAYERS;
	if (place > INT32_MAX / WRITER_LAYERS)
		return packets_fail(process->packets, -EOVERFLOW);
	n->site = place * WRITER_LAYERS + layer;
	n->tensor = ((place - low) + layer) * WRITER_LAYERS + low;
	n->sibling = process->site_of_place[place % WRITER_PLACES];
	process->site_of_place[place % WRITER_PLACES] = (uint16_t)site;
	return 0;
}

/* Most sites of a brick are of one operation, and packets that are alike take less. */
static int number_operation(struct writer_process *process, uint32_t site)
{
	const struct brick_session_site *sites = process->tables.sites;
	uint32_t brick = sites[site].brick % BRICK_MAX_BRICKS;
	uint32_t *last = array_grow(
		process->operations, &process->operation_capacity, brick + 1u, sizeof(*last));

	if (!last)
		return packets_fail(process->packets, -ENOMEM);
	process->operations = last;
	while (process->operation_count <= brick)
		last[process->operation_count++] = 0;
	last += brick;
	if (*last &&
		!strncmp(sites[*last].operation, sites[site].operation, sizeof(sites->operation))) {
		process->sites[site].operation = process->sites[*last].operation;
		return 0;
	}
	process->sites[site].operation = ++process->numbering->operations;
	*last = site;
	return 0;
}

static void writer_names_text(struct pb_buffer *b, uint32_t number, const char *text, size_t size)
{
	size_t value = pb_open(b, ENUM_VALUES);

	pb_string(b, VALUE_NAME, text, size);
	pb_varint(b, VALUE_NUMBER, number);
	pb_close(b, value);
}

static void foreign_text(struct pb_buffer *b, uint32_t number, const char *from, size_t bytes)
{
	char to[3 * sizeof((struct brick_session_site *)0)->label];
	size_t size = tables_text(to, sizeof(to), from, bytes);

	if (size)
		writer_names_text(b, number, to, size);
}

static void member_texts(
	struct pb_buffer *b, const struct batch *batch, enum format_site_member member)
{
	uint32_t operations = batch->operations;

	for (uint32_t i = batch->first; i < batch->end; i++) {
		const struct brick_session_site *site = &batch->process->tables.sites[i];
		const struct site_numbers *n = &batch->process->sites[i];
		char json[1024];

		if (member == FORMAT_S_SITE)
			writer_names_text(b, n->site, json, site_json(json, sizeof(json), site));
		else if (member == FORMAT_S_TENSOR)
			foreign_text(b, n->tensor, site->label, sizeof(site->label));
		else if (n->operation > operations)
			foreign_text(b, operations = n->operation, site->operation,
				sizeof(site->operation));
	}
}

static void writer_names_put_text(struct pb_buffer *b, uint32_t field, const char *text)
{
	pb_string(b, field, text, strlen(text));
}

static void member(struct pb_buffer *b, uint32_t number, const char *name, const char *texts)
{
	size_t field = pb_open(b, MESSAGE_FIELDS);

	writer_names_put_text(b, FIELD_NAME, name);
	pb_varint(b, FIELD_NUMBER, number);
	pb_varint(b, FIELD_LABEL, LABEL_OPTIONAL);
	pb_varint(b, FIELD_TYPE, texts ? TYPE_ENUM : TYPE_INT64);
	if (texts) {
		size_t type = pb_open(b, FIELD_TYPE_NAME);
		pb_bytes(b, "." FORMAT_PACKAGE ".", strlen("." FORMAT_PACKAGE "."));
		pb_bytes(b, texts, strlen(texts));
		pb_close(b, type);
	}
	pb_close(b, field);
}

static const struct {
	const char *name, *texts;
} members[] = {{NULL, NULL},
#define FORMAT_X(identifier, name, texts) {name, texts},
	FORMAT_SITE_MEMBERS(FORMAT_X)
#undef FORMAT_X
};
enum { MEMBERS = sizeof(members) / sizeof(*members) };

static void describe_field(struct pb_buffer *b)
{
	size_t message = pb_open(b, FILE_MESSAGES);

	writer_names_put_text(b, MESSAGE_NAME, FORMAT_SITE_MESSAGE);
	for (uint32_t i = 1; i < MEMBERS; i++)
		member(b, i, members[i].name, members[i].texts);
	pb_close(b, message);
	size_t extension = pb_open(b, FILE_EXTENSIONS);
	writer_names_put_text(b, FIELD_NAME, FORMAT_EXTENSION);
	writer_names_put_text(b, FIELD_EXTENDEE, FORMAT_EXTENDEE);
	pb_varint(b, FIELD_NUMBER, FORMAT_SITE_FIELD);
	pb_varint(b, FIELD_LABEL, LABEL_OPTIONAL);
	pb_varint(b, FIELD_TYPE, TYPE_MESSAGE);
	writer_names_put_text(b, FIELD_TYPE_NAME, "." FORMAT_PACKAGE "." FORMAT_SITE_MESSAGE);
	pb_close(b, extension);
}

static void describe_texts(struct pb_buffer *b, const struct batch *batch)
{
	for (uint32_t i = 1; i < MEMBERS; i++) {
		if (!members[i].texts)
			continue;
		size_t texts = pb_open(b, FILE_ENUMS);
		writer_names_put_text(b, ENUM_NAME, members[i].texts);
		member_texts(b, batch, (enum format_site_member)i);
		pb_close(b, texts);
	}
}

/* Perfetto reads a file of one name once; enums that come again grow. */
static int writer_names_describe(const struct writer_process *process, const struct batch *batch)
{
	struct pb_buffer *b = &process->packets->scratch;
	char name[32];

	b->size = 0;
	snprintf(name, sizeof(name), FORMAT_PACKAGE "/%u", process->numbering->descriptions++);
	size_t packet = packet_open(b, FORMAT_OWN_SEQUENCE, SEQUENCE_NEEDS_STATE);
	size_t extension = pb_open(b, PACKET_EXTENSION_DESCRIPTOR);
	size_t set = pb_open(b, EXTENSION_SET), file = pb_open(b, SET_FILES);
	writer_names_put_text(b, FILE_NAME, name);
	writer_names_put_text(b, FILE_PACKAGE, FORMAT_PACKAGE);
	if (process->numbering->descriptions == 1)
		describe_field(b);
	describe_texts(b, batch);
	pb_close(b, file);
	pb_close(b, set);
	pb_close(b, extension);
	pb_close(b, packet);
	return packets_add(process->packets);
}

int names_sites(struct writer_process *process)
{
	uint32_t count = process->tables.site_count;
	struct site_numbers *sites =
		array_grow(process->sites, &process->site_capacity, count, sizeof(*sites));

	if (!sites)
		return packets_fail(process->packets, -ENOMEM);
	process->sites = sites;
	if (!process->site_count) /* there is no site 0 */
		sites[process->site_count++] = (struct site_numbers){0};
	while (process->site_count < count && !process->packets->error) {
		struct batch batch = {process, process->site_count, process->site_count,
			process->numbering->operations};
		for (; batch.end < count && batch.end - batch.first < MAX_SITES_AT_ONCE;
			batch.end++) {
			sites[batch.end] = (struct site_numbers){0};
			if (number_operation(process, batch.end) ||
				writer_names_number(process, batch.end))
				return process->packets->error;
		}
		process->site_count = batch.end;
		writer_names_describe(process, &batch);
	}
	return process->packets->error;
}
