/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays. ARRAY(type) is a struct of items, count and capacity; all zero is an empty one.
 * The macros evaluate their first argument, a pointer to it, more than once. They return 0 or
 * -ENOMEM; when memory or size_t is not enough the array stays as it was. One thread at a time.
 *
 *	ARRAY(struct row) rows = {0};
 *
 *	if (array_push(&rows, (struct row){.name = name}))
 *		return -ENOMEM;
 *	array_fini(&rows);
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY(type)                     \
	struct {                        \
		type *items;            \
		size_t count, capacity; \
	}

/* Make sure that `extra` more items fit. */
#define array_reserve(a, extra)                           \
	(array__fits((a)->capacity - (a)->count, (extra)) \
			? 0                               \
			: array__reserve((a), (extra), sizeof(*(a)->items)))

/* Append one item. */
#define array_push(a, ...) \
	(array_reserve((a), 1) ? -ENOMEM : ((void)((a)->items[(a)->count++] = (__VA_ARGS__)), 0))

/* Append an item that the caller fills: its address, or NULL. */
#define array_add(a) (array_reserve((a), 1) ? NULL : &(a)->items[(a)->count++])

/* Append copies of `n` items of the same type. */
#define array_append(a, from, n)                                                                \
	(array_reserve((a), (size_t)(n))                                                        \
			? -ENOMEM                                                               \
			: (array__copy((a)->items, (a)->count * sizeof(*(a)->items),            \
				   1 ? (from) : (a)->items, (size_t)(n) * sizeof(*(a)->items)), \
				  (a)->count += (size_t)(n), 0))

/* Sort the items by a comparator (base/order.h). */
#define array_sort(a, compare)                                                         \
	do {                                                                           \
		if ((a)->count)                                                        \
			qsort((a)->items, (a)->count, sizeof(*(a)->items), (compare)); \
	} while (0)

/* Free the items; the array is empty again. */
#define array_fini(a) (free((a)->items), (a)->items = NULL, (void)((a)->count = (a)->capacity = 0))

/*
 * For an array that is no ARRAY: move the items to memory for at least `wanted` items of `bytes`
 * each, and at least twice as many as before; *capacity is updated. NULL: not enough memory; items
 * and *capacity are as before.
 *
 *	struct row *rows = array_grow(t->rows, &t->row_capacity, t->row_count + 1, sizeof(*rows));
 */
void *array_grow(void *items, size_t *capacity, size_t wanted, size_t bytes);

/* Used by array_reserve(): `array` is an ARRAY, its items have `bytes` each. */
int array__reserve(void *array, size_t extra, size_t bytes);

static inline bool array__fits(size_t free_items, size_t extra)
{
	return extra <= free_items;
}

/* Both pointers may be NULL if there are no bytes. */
static inline void array__copy(void *items, size_t offset, const void *from, size_t bytes)
{
	if (bytes)
		memcpy((char *)items + offset, from, bytes);
}
