/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink's copies of tables grow by doubling; a table that shrank in the other process changes
 * nothing.
 */
#include "lib/writer/trace_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/members.h"
#include "base/utf8.h"
#include "format/format.h"

/* One table as bytes: its array, and how many entries are there and fit. */
struct copied_table {
	void *array;
	uint32_t *count, *capacity;
	size_t entry_bytes;
};

/* The array with the entries [*count, count) of `from` behind those that it has; NULL: no memory.
 */
static void *add_entries(struct copied_table copy, const void *from, uint32_t count, uint32_t limit)
{
	if (count > limit)
		count = limit;
	if (count > *copy.capacity || !copy.array) {
		uint32_t capacity = 2 * *copy.capacity; /* those of an import never grow */
		if (capacity < count)
			capacity = count ? count : 1;
		void *grown = realloc(copy.array, capacity * copy.entry_bytes);
		if (!grown)
			return NULL;
		copy.array = grown;
		*copy.capacity = capacity;
	}
	if (count <= *copy.count)
		return copy.array;
	size_t have = *copy.count * copy.entry_bytes;
	memcpy((char *)copy.array + have, (const char *)from + have,
		count * copy.entry_bytes - have);
	*copy.count = count;
	return copy.array;
}

#define ADD(table, name, limit)                                                        \
	do {                                                                           \
		struct copied_table copy = {tables->table, &tables->name##_count,      \
			&tables->name##_capacity, sizeof(*tables->table)};             \
		void *array = add_entries(copy, now->table, now->name##_count, limit); \
		if (!array)                                                            \
			return -ENOMEM;                                                \
		tables->table = array;                                                 \
	} while (0)

int tables_add(struct tables *tables, const struct sink_tables *now)
{
	ADD(categories, category, BRICK_MAX_CATEGORIES);
	ADD(bricks, brick, BRICK_MAX_BRICKS);
	ADD(sites, site, BRICK_MAX_SITES);
	ADD(kernels, kernel, BRICK_MAX_KERNELS);
	return 0;
}

void tables_fini(struct tables *tables)
{
	members_free(tables, bricks, categories, sites, kernels);
}

size_t tables_text(char *to, size_t capacity, const char *from, size_t from_bytes)
{
	size_t length = strnlen(from, from_bytes), size = 0;

	for (size_t i = 0; i < length;) {
		size_t n = utf8_character(from + i, length - i);
		size_t step = n ? n : 1;
		if (size + step >= capacity)
			break;
		if (n)
			memcpy(to + size, from + i, n);
		else
			to[size] = '?';
		size += step;
		i += step;
	}
	to[size] = 0;
	return size;
}

static int32_t at_least(int32_t value, int32_t least)
{
	return value > least ? value : least;
}

struct brick_sequence_record record_sequence(const struct brick_record *r)
{
	struct brick_sequence_record s;

	memcpy(&s, r, sizeof(s));
	bool has_other = s.event == BRICK_SEQUENCE_COPIED || s.event == BRICK_SEQUENCE_MOVED ||
			 s.event == BRICK_SEQUENCE_BLOCK;
	if (s.event == BRICK_SEQUENCE_FREED)
		s.sequence = BRICK_SEQUENCE_ALL;
	if (s.event != BRICK_SEQUENCE_TOKENS) {
		s.prompt = 0;
		s.tokens = has_other ? s.tokens : 0;
	}
	if (s.prompt > s.tokens)
		s.prompt = s.tokens;
	if (brick_sequence_has_number(s.event))
		return s;
	if (s.event == BRICK_SEQUENCE_SAMPLED)
		s.position = s.end = -1;
	s.position = at_least(s.position, -1);
	s.end = at_least(s.end, s.event == BRICK_SEQUENCE_TOKENS ? 0 : -1);
	return s;
}

bool record_expert(const struct brick_record *r, struct brick_expert_record *expert)
{
	memcpy(expert, r, sizeof(*expert));
	return expert->expert >= BRICK_EXPERT_SAME && expert->expert < expert->experts &&
	       (expert->tokens || expert->expert == BRICK_EXPERT_SAME);
}

bool record_memory(const struct brick_record *r, struct brick_memory_record *memory)
{
	memcpy(memory, r, sizeof(*memory));
	return memory->memory < BRICK_MEMORY_KINDS;
}

bool record_message(const struct brick_record *r, struct brick_message_record *message)
{
	memcpy(message, r, sizeof(*message));
	return message->event < BRICK_MESSAGE_EVENTS && message->peer >= BRICK_MESSAGE_NO_PEER;
}
