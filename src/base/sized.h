/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that begin with their size (include/brick/brick.h) pass between a program and a
 * library of different versions. The side that knows fewer fields decides, and no field that
 * somebody set is ignored. Header only; any thread.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { SIZED_MAX = 4096 }; /* a greater size was never set */

/* The size that a struct says it has; 0: none that can be right. */
static inline size_t sized_bytes(const void *given)
{
	size_t size;

	if (!given)
		return 0;
	memcpy(&size, given, sizeof(size));
	return size < sizeof(size) || size > SIZED_MAX ? 0 : size;
}

/*
 * Read a program's struct into our own of `bytes`. Fields that the program's is too short for
 * keep the defaults in our own. -EINVAL: no size; -E2BIG: fields that we do not know are set.
 */
static inline int sized_read(void *own, size_t bytes, const void *given)
{
	size_t size = sized_bytes(given);

	if (!size)
		return -EINVAL;
	for (size_t i = bytes; i < size; i++)
		if (((const char *)given)[i])
			return -E2BIG;
	memcpy(own, given, size < bytes ? size : bytes);
	memcpy(own, &bytes, sizeof(bytes));
	return 0;
}

/*
 * Write our own struct of `bytes` into a program's, which keeps its size. Fields that it does
 * not have are left out; fields that we do not know are 0. -EINVAL: no size.
 */
static inline int sized_write(void *given, size_t bytes, const void *own)
{
	size_t size = sized_bytes(given);

	if (!size)
		return -EINVAL;
	memset(given, 0, size);
	memcpy(given, own, size < bytes ? size : bytes);
	memcpy(given, &size, sizeof(size));
	return 0;
}

/* An element of a program's array. The first element says how large each is. */
static inline void *sized_at(void *first, size_t index)
{
	return (char *)first + index * sized_bytes(first);
}
