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

/* Text comes from a session: bytes of another process. Nothing is put of none. */
static void foreign_text(struct pb_buffer *b, uint32_t field, const char *from, size_t bytes)
{
	char to[256];
	size_t size = tables_text(to, sizeof(to), from, bytes);

	if (size)
		pb_string(b, field, to, size);
}

static void writer_names_known(struct pb_buffer *b, uint32_t field, uint64_t value)
{
	if (value)
		pb_varint(b, field, value);
}

static void writer_names_triple(struct pb_buffer *b, uint32_t field, const uint32_t *sizes)
{
	for (int i = 0; i < 3 && sizes[0]; i++)
		pb_varint(b, field, sizes[i]);
}

static void kernel_facts(struct pb_buffer *b, const struct brick_session_kernel *kernel)
{
	size_t facts = pb_open(b, FORMAT_FACTS_FIELD);

	pb_varint(b, FORMAT_KERNEL_KIND,
		kernel->kind < FORMAT_KERNEL_KIND_COUNT ? kernel->kind : BRICK_KERNEL_OTHER);
	foreign_text(b, FORMAT_KERNEL_NAME, kernel->name, sizeof(kernel->name));
	foreign_text(b, FORMAT_KERNEL_BACKEND, kernel->backend, sizeof(kernel->backend));
	writer_names_triple(b, FORMAT_KERNEL_GRID, kernel->grid);
	writer_names_triple(b, FORMAT_KERNEL_BLOCK, kernel->block);
	writer_names_known(b, FORMAT_KERNEL_SHARED_BYTES, (uint32_t)kernel->shared_bytes);
	writer_names_known(b, FORMAT_KERNEL_REGISTERS, kernel->registers);
	writer_names_known(b, FORMAT_KERNEL_CODE, kernel->code);
	pb_close(b, facts);
}

static void site_facts(struct pb_buffer *b, const struct brick_session_site *site)
{
	size_t facts = pb_open(b, FORMAT_FACTS_FIELD);

	writer_names_known(b, FORMAT_SITE_LAYER, site->layer < 0 ? 0 : (uint64_t)site->layer + 1);
	foreign_text(b, FORMAT_SITE_OPERATION, site->operation, sizeof(site->operation));
	foreign_text(b, FORMAT_SITE_TENSOR, site->label, sizeof(site->label));
	if (site->flags & BRICK_SITE_HAS_ELEMENTS)
		pb_varint(b, FORMAT_SITE_ELEMENTS, site->elements);
	if (site->flags & BRICK_SITE_HAS_BYTES)
		pb_varint(b, FORMAT_SITE_BYTES, site->bytes);
	if (site->flags & BRICK_SITE_HAS_FLOPS)
		pb_varint(b, FORMAT_SITE_FLOPS, site->flops);
	writer_names_known(
		b, FORMAT_SITE_UNKNOWN, (site->flags & BRICK_SITE_UNKNOWN_OPERATION) != 0);
	writer_names_known(b, FORMAT_SITE_AT_MOST, (site->flags & BRICK_SITE_AT_MOST) != 0);
	pb_close(b, facts);
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

/* What Perfetto's compute views ask for under these names, in the order of enum compute_arg. */
static const char *const compute_args[] = {"workgroup_size", "grid_size", "thread_count",
	"registers_per_thread", "shared_mem_static", "shared_mem_dynamic", "shared_mem"};
enum { COMPUTE_ARGS_COUNT = sizeof(compute_args) / sizeof(*compute_args) };
enum compute_arg {
	GROUP_ITEMS = 1,
	GROUPS,
	ITEMS,
	REGISTERS,
	STATIC_SHARED,
	DYNAMIC_SHARED,
	ALL_SHARED,
};

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

static void compute_entry(struct lane_names *names, uint32_t kernel, const char *text, size_t size)
{
	const struct brick_session_kernel *k = &names->process->tables.kernels[kernel];
	const char *runs = gpu_list_architecture(names->process->gpus, names->gpu);
	struct pb_buffer *b = &names->packets->scratch;

	for (uint32_t i = 0; !names->has_arg_names && i < COMPUTE_ARGS_COUNT; i++)
		names_entry(
			b, INTERNED_COMPUTE_ARGS, i + 1, compute_args[i], strlen(compute_args[i]));
	names->has_arg_names = true;
	size_t entry = pb_open(b, INTERNED_COMPUTE_KERNELS);
	pb_varint(b, ENTRY_IID, kernel);
	pb_string(b, ENTRY_TEXT, text, size);
	if (*runs)
		pb_string(b, COMPUTE_ARCHITECTURE, runs, strlen(runs));
	/*
	 * The launch's numbers, as far as they are known. Without a group's size, the grid is of
	 * items.
	 */
	uint64_t group_count = writer_names_product(k->grid),
		 group_items = writer_names_product(k->block);
	if (group_items)
		compute_arg(b, GROUP_ITEMS, group_items);
	if (group_items && group_count)
		compute_arg(b, GROUPS, group_count);
	if (group_count)
		compute_arg(b, ITEMS, group_count * (group_items ? group_items : 1));
	if (k->registers)
		compute_arg(b, REGISTERS, k->registers);
	uint32_t all = (uint32_t)k->shared_bytes, dynamic = (uint32_t)(k->shared_bytes >> 32);
	if (dynamic && dynamic - 1 <= all) {
		compute_arg(b, STATIC_SHARED, all - (dynamic - 1));
		compute_arg(b, DYNAMIC_SHARED, dynamic - 1);
	} else if (all) {
		compute_arg(b, ALL_SHARED, all);
	}
	pb_close(b, entry);
}

/* For people, behind the name of `size` bytes that is there: "gemv <<<(32,1,1),(256,1,1)>>>". */
static size_t kernel_text(
	char *text, size_t capacity, size_t size, const struct brick_session_kernel *kernel)
{
	const uint32_t *g = kernel->grid, *b = kernel->block;

	if (g[0])
		size += (size_t)snprintf(text + size, capacity - size,
			" <<<(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", g[0], g[1], g[2]);
	if (g[0] && b[0])
		size += (size_t)snprintf(text + size, capacity - size,
			",(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", b[0], b[1], b[2]);
	if (g[0])
		size += (size_t)snprintf(text + size, capacity - size, ">>>");
	return size;
}

/* The kernel, and its name as that of slices. */
int names_kernel(struct lane_names *names, uint32_t kernel)
{
	const struct brick_session_kernel *entry = &names->process->tables.kernels[kernel];
	struct pb_buffer *b = &names->packets->scratch;
	char text[2048];

	if (was_said(names->kernels, kernel))
		return names->packets->error;
	struct names_packet packet = names_open(names);
	size_t size = tables_text(text, sizeof(text), entry->name, sizeof(entry->name));
	names_entry(b, INTERNED_EVENT_NAMES, FORMAT_N_KERNEL + kernel, text, size);
	size_t stage = pb_open(b, INTERNED_GPU_NAMES); /* of Perfetto's GPU views */
	pb_varint(b, ENTRY_IID, FORMAT_N_KERNEL + kernel);
	pb_string(b, ENTRY_TEXT, text, size);
	if (entry->kind == BRICK_KERNEL_COMPUTE)
		pb_varint(b, STAGE_CATEGORY, STAGE_COMPUTE);
	pb_close(b, stage);
	if (entry->kind == BRICK_KERNEL_COMPUTE)
		compute_entry(names, kernel, text, size);
	size_t value = pb_open(b, INTERNED_STRING_VALUES);
	pb_varint(b, ENTRY_IID, FORMAT_KERNEL_IID + kernel);
	size = kernel_text(text, sizeof(text), size, entry);
	pb_string(b, ENTRY_TEXT, text, size);
	kernel_facts(b, entry);
	pb_close(b, value);
	return names_close(names, packet);
}

/* One of Brick's own instants: enum format_event_name. */
int names_event(struct lane_names *names, uint32_t name)
{
	static const char *const texts[] = {FORMAT_DROPPED, FORMAT_THREAD, FORMAT_WORK,
		FORMAT_BLOCKED, FORMAT_PREEMPTED, FORMAT_WAITED, FORMAT_LAUNCHED, FORMAT_SEQUENCES,
		[FORMAT_N_MEMORY - FORMAT_N_DROPPED] = FORMAT_MEMORY,
		[FORMAT_N_EXPERT - FORMAT_N_DROPPED] = FORMAT_EXPERT, FORMAT_MESSAGES};
	uint32_t index = name - FORMAT_N_DROPPED;

	if (names->events >> index & 1)
		return names->packets->error;
	names->events |= 1ull << index;
	struct names_packet packet = names_open(names);
	names_entry(&names->packets->scratch, INTERNED_EVENT_NAMES, name, texts[index],
		strlen(texts[index]));
	if (names->events == 1ull << index)
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

/* The name of an enum's value. */
static void numbered_text(struct pb_buffer *b, uint32_t number, const char *from, size_t bytes)
{
	if (!bytes || !*from)
		return;
	size_t value = pb_open(b, ENUM_VALUES);
	foreign_text(b, VALUE_NAME, from, bytes);
	pb_varint(b, VALUE_NUMBER, number);
	pb_close(b, value);
}

/* A site's counts are its text, as an object of JSON, for SQL and viewers. */
static void writer_names_site(
	struct pb_buffer *b, uint32_t number, const struct brick_session_site *site)
{
	const struct {
		const char *name;
		uint32_t flag;
		uint64_t value;
	} counts[] = {{"elements", BRICK_SITE_HAS_ELEMENTS, site->elements},
		{"bytes", BRICK_SITE_HAS_BYTES, site->bytes},
		{"flops", BRICK_SITE_HAS_FLOPS, site->flops}};
	char text[128];
	size_t size = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (site->flags & counts[i].flag)
			size += (size_t)snprintf(text + size, sizeof(text) - size,
				"%c\"%s\":%" PRIu64, size ? ',' : '{', counts[i].name,
				counts[i].value);
	size += (size_t)snprintf(text + size, sizeof(text) - size, "%s", size ? "}" : "{}");
	size_t value = pb_open(b, ENUM_VALUES);
	pb_string(b, VALUE_NAME, text, size);
	pb_varint(b, VALUE_NUMBER, number);
	site_facts(b, site);
	pb_close(b, value);
}

static void member_texts(
	struct pb_buffer *b, const struct batch *batch, enum format_site_member member)
{
	uint32_t operations = batch->operations;

	for (uint32_t i = batch->first; i < batch->end; i++) {
		const struct brick_session_site *site = &batch->process->tables.sites[i];
		const struct site_numbers *n = &batch->process->sites[i];

		if (member == FORMAT_S_SITE)
			writer_names_site(b, n->site, site);
		else if (member == FORMAT_S_TENSOR)
			numbered_text(b, n->tensor, site->label, sizeof(site->label));
		else if (n->operation > operations)
			numbered_text(b, operations = n->operation, site->operation,
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
	for (uint32_t i = 1; i < MEMBERS; i++) {
		if (!members[i].texts)
			continue;
		size_t texts = pb_open(b, FILE_ENUMS);
		writer_names_put_text(b, ENUM_NAME, members[i].texts);
		member_texts(b, batch, (enum format_site_member)i);
		pb_close(b, texts);
	}
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
