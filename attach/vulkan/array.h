/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. Header only. */
#ifndef BRICK_ATTACH_VULKAN_ARRAY_H
#define BRICK_ATTACH_VULKAN_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

/* Room for `count` + 1 elements in *array (a pointer to the pointer); doubles. 0: there is none. */
static inline int array_reserve(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
	void **at = array;

	if (count < *capacity)
		return 1;
	uint32_t larger = *capacity ? 2 * *capacity : 16;
	void *moved = realloc(*at, larger * size);
	if (!moved)
		return 0;
	*at = moved;
	*capacity = larger;
	return 1;
}

#endif
