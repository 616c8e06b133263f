/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of bricks, categories and sources, which a lane's sequence must have said before
 * a packet may refer to them. Each is said once per lane, when first used.
 */
#include <string.h>
#include "lib/writer/writer_slice.h"
#include "lib/writer/writer_text.h"

void writer_intern(struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text, size_t size)
{
	size_t entry = pb_open(b, field);

	pb_varint(b, ENTRY_IID, iid);
	pb_string(b, ENTRY_TEXT, text, size);
	pb_close(b, entry);
}

/* A packet that only adds names; between the calls come names. */
struct names {
	size_t packet, interned;
};

static struct names names_open(const struct writer_lane *lane)
{
	struct pb_buffer *b = &lane->packets->scratch;
	struct names names;

	b->size = 0;
	names.packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	names.interned = pb_open(b, PACKET_INTERNED_DATA);
	return names;
}

static int names_close(struct writer_lane *lane, struct names names)
{
	pb_close(&lane->packets->scratch, names.interned);
	pb_close(&lane->packets->scratch, names.packet);
	return packets_add(lane->packets);
}

static void intern_category(struct writer_lane *lane, uint32_t category)
{
	const struct writer_process *process = lane->process;
	char text[3 * sizeof process->tables.categories->name];

	if (category >= process->tables.category_count || lane->interned_categories >> category & 1)
		return;
	lane->interned_categories |= 1ull << category;
	size_t size = tables_text(text, sizeof text, process->tables.categories[category].name,
		sizeof process->tables.categories->name);
	writer_intern(&lane->packets->scratch, INTERNED_CATEGORIES, category + 1u, text, size);
}

/* The brick's name, and its category's. */
int writer_intern_brick(struct writer_lane *lane, uint32_t brick)
{
	const struct brick_session_brick *entry = &lane->process->tables.bricks[brick];
	char text[3 * sizeof entry->name];

	if (lane->interned_bricks[brick / 64] >> (brick % 64) & 1)
		return lane->packets->error;
	lane->interned_bricks[brick / 64] |= 1ull << (brick % 64);
	struct names names = names_open(lane);
	size_t size = tables_text(text, sizeof text, entry->name, sizeof entry->name);
	writer_intern(&lane->packets->scratch, INTERNED_EVENT_NAMES, brick + 1u, text, size);
	intern_category(lane, entry->category);
	return names_close(lane, names);
}

int writer_intern_source(struct writer_lane *lane, uint32_t source)
{
	static const char *const sources[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	if (lane->interned_sources >> source & 1)
		return lane->packets->error;
	lane->interned_sources |= 1u << source;
	struct names names = names_open(lane);
	writer_intern(&lane->packets->scratch, INTERNED_STRING_VALUES, FORMAT_SOURCE_IID + source,
		sources[source], strlen(sources[source]));
	return names_close(lane, names);
}

/* The brick's name as a value, and its category's, for slices that a kernel names. */
int writer_intern_brick_value(struct writer_lane *lane, uint32_t brick)
{
	const struct brick_session_brick *entry = &lane->process->tables.bricks[brick];
	char text[3 * sizeof entry->name];

	if (lane->interned_values[brick / 64] >> (brick % 64) & 1)
		return lane->packets->error;
	lane->interned_values[brick / 64] |= 1ull << (brick % 64);
	struct names names = names_open(lane);
	size_t size = tables_text(text, sizeof text, entry->name, sizeof entry->name);
	intern_category(lane, entry->category);
	writer_intern(&lane->packets->scratch, INTERNED_STRING_VALUES, FORMAT_BRICK_IID + brick,
		text, size);
	return names_close(lane, names);
}

/* What was launched, and its name as that of slices. */
int writer_intern_kernel(struct writer_lane *lane, uint32_t kernel)
{
	const struct brick_session_kernel *entry = &lane->process->tables.kernels[kernel];
	char text[2048];

	if (lane->interned_kernels[kernel / 64] >> (kernel % 64) & 1)
		return lane->packets->error;
	lane->interned_kernels[kernel / 64] |= 1ull << (kernel % 64);
	struct names names = names_open(lane);
	size_t size = tables_text(text, sizeof text, entry->name, sizeof entry->name);
	writer_intern(&lane->packets->scratch, INTERNED_EVENT_NAMES, FORMAT_N_KERNEL + kernel, text,
		size);
	writer_intern(
		&lane->packets->scratch, INTERNED_GPU_NAMES, FORMAT_N_KERNEL + kernel, text, size);
	size = writer_kernel_json(text, sizeof text, entry);
	writer_intern(&lane->packets->scratch, INTERNED_STRING_VALUES, FORMAT_KERNEL_IID + kernel,
		text, size);
	return names_close(lane, names);
}

/* One of Brick's own instants: enum format_event_name. */
int writer_intern_event(struct writer_lane *lane, uint32_t name)
{
	static const char *const texts[] = {FORMAT_DROPPED, FORMAT_THREAD, FORMAT_WORK,
		FORMAT_BLOCKED, FORMAT_PREEMPTED, FORMAT_WAITED, FORMAT_LAUNCHED};
	uint32_t index = name - FORMAT_N_DROPPED;

	if (lane->interned_events >> index & 1)
		return lane->packets->error;
	lane->interned_events |= 1u << index;
	struct names names = names_open(lane);
	writer_intern(&lane->packets->scratch, INTERNED_EVENT_NAMES, name, texts[index],
		strlen(texts[index]));
	if (lane->interned_events == 1u << index)
		writer_intern(&lane->packets->scratch, INTERNED_CATEGORIES, FORMAT_OWN_CATEGORY_IID,
			FORMAT_CATEGORY, strlen(FORMAT_CATEGORY));
	return names_close(lane, names);
}
