// SPDX-License-Identifier: Apache-2.0
//
// Memory for a program that cannot go on without it. free() it. Any thread.
#ifndef DECODER_MEMORY_H
#define DECODER_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Zeros, aligned to a cache line, so that no vector lies across two.
static inline void *allocate(size_t n, size_t size)
{
	size_t bytes, line = 64;
	void *memory = NULL;
	if (!__builtin_mul_overflow(n, size, &bytes) && bytes < SIZE_MAX / 2)
		memory = aligned_alloc(line, (bytes + line) / line * line);
	if (!memory) {
		fprintf(stderr, "example-decoder: no memory for %zu x %zu bytes\n", n, size);
		exit(1);
	}
	return memset(memory, 0, bytes);
}

#endif
