/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. Header only. */
#ifndef BRICK_ATTACH_VULKAN_ARRAY_H
#define BRICK_ATTACH_VULKAN_ARRAY_H

#include <stdint.h>
#include <string.h>
#include "base/array.h"

/* Room for `count` + 1 elements in *array (a pointer to the pointer); doubles. 0: there is none. */
static inline int array_one_more(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
	size_t larger = *capacity;
	void *items;

	if (count < *capacity)
		return 1;
	if (larger > UINT32_MAX / 2)
		return 0;
	memcpy(&items, array, sizeof items); /* a pointer to any type */
	items = array_grow(items, &larger, (size_t)count + 1, size);
	if (!items)
		return 0;
	memcpy(array, &items, sizeof items);
	*capacity = (uint32_t)larger;
	return 1;
}

#endif
