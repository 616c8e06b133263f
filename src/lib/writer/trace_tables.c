/* SPDX-License-Identifier: Apache-2.0 */
/* Copies grow by doubling; a table that shrank in the other process changes nothing. */
#include "lib/writer/trace_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/members.h"
#include "base/utf8.h"

enum { MIN_ENTRIES = 64 };

/* One table as bytes: its array, and how many entries are there and fit. */
struct copy {
	void *array;
	uint32_t *count, *capacity;
	size_t entry_bytes;
};

/* The array with the entries [*count, count) of `from` behind those that it has; NULL: no memory.
 */
static void *add(struct copy copy, const void *from, uint32_t count, uint32_t limit)
{
	if (count > limit)
		count = limit;
	if (count > *copy.capacity || !copy.array) {
		uint32_t capacity = *copy.capacity ? *copy.capacity : MIN_ENTRIES;
		while (capacity < count)
			capacity *= 2;
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

#define ADD(table, name, limit)                                                \
	do {                                                                   \
		struct copy copy = {tables->table, &tables->name##_count,      \
			&tables->name##_capacity, sizeof *tables->table};      \
		void *array = add(copy, now->table, now->name##_count, limit); \
		if (!array)                                                    \
			return -ENOMEM;                                        \
		tables->table = array;                                         \
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
