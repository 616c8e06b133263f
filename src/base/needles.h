/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which of several texts a large block of bytes contains, in one pass that skips most bytes.
 * The search looks at the two bytes where the shortest text would end; they tell the distance to
 * the next place where a text can end (Wu and Manber, "A fast algorithm for multi-pattern
 * searching", 1994). needles_find() only reads the set: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NEEDLES_MOST = 64, NEEDLES_PAIRS = 1 << 12 };

struct needles {
	const char *texts[NEEDLES_MOST]; /* borrowed */
	size_t lengths[NEEDLES_MOST];
	size_t count;
	size_t shortest;	     /* of lengths */
	uint8_t skip[NEEDLES_PAIRS]; /* by a hash of two bytes: bytes to skip; 0: a text may end */
};

/* The texts must outlive the set. Each has at least 2 bytes; there are at most NEEDLES_MOST. */
void needles_init(struct needles *set, const char *const *texts, size_t count);

/* Returns a mask: bit i is set if the block contains texts[i]. */
uint64_t needles_find(const struct needles *set, const void *data, size_t bytes);
