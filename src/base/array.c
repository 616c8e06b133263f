/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays grow by doubling, and never past what size_t can say. */
#include "base/array.h"

#include <stdint.h>

enum { FIRST_BYTES = 256 };

void *array_grow(void *items, size_t *capacity, size_t wanted, size_t bytes)
{
	size_t larger = *capacity ? *capacity : FIRST_BYTES / bytes;

	if (wanted <= *capacity && items)
		return items;
	if (*capacity && larger <= SIZE_MAX / 2)
		larger *= 2;
	if (larger < wanted)
		larger = wanted;
	if (!larger)
		larger = 1;
	if (larger > PTRDIFF_MAX / bytes)
		return NULL;
	void *moved = realloc(items, larger * bytes);
	if (moved)
		*capacity = larger;
	return moved;
}

/* The type of the items is not known here, so the array is read and written as bytes. */
int array__reserve(void *array, size_t extra, size_t bytes)
{
	ARRAY(void) any;

	memcpy(&any, array, sizeof(any));
	if (extra > SIZE_MAX - any.count)
		return -ENOMEM;
	void *moved = array_grow(any.items, &any.capacity, any.count + extra, bytes);
	if (!moved)
		return -ENOMEM;
	any.items = moved;
	memcpy(array, &any, sizeof(any));
	return 0;
}
