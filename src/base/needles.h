/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several texts a large block of bytes holds, told in one pass that skips most of them:
 * it looks at two bytes where the shortest text would end, which say how far the next place is at
 * which a text can end (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994). A set
 * that is made is only read. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NEEDLES_MOST = 64, NEEDLES_PAIRS = 1 << 12 };

struct needles {
	const char *texts[NEEDLES_MOST]; /* borrowed */
	size_t lengths[NEEDLES_MOST];
	size_t count, shortest;
	uint8_t skip[NEEDLES_PAIRS]; /* by a hash of the two last bytes; 0: a text may end here */
};

/* Each text has at least two bytes; there are NEEDLES_MOST at most. */
void needles_init(struct needles *set, const char *const *texts, size_t count);

/* Bit i: texts[i] is in there. */
uint64_t needles_find(const struct needles *set, const void *data, size_t bytes);
