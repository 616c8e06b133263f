// SPDX-License-Identifier: Apache-2.0
//
// Memory for a program that cannot go on without it: zeros, aligned to a cache line, so that no
// vector lies across two. free() it. Any thread.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *allocate(size_t n, size_t size)
{
	const size_t line = 64;
	void *memory = NULL;
	if (n < SIZE_MAX / 2 / size)
		memory = aligned_alloc(line, (n * size + line) / line * line);
	if (!memory) {
		fprintf(stderr, "example-decoder: no memory for %zu x %zu bytes\n", n, size);
		exit(1);
	}
	return memset(memory, 0, n * size);
}
