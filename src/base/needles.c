/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the first `shortest` bytes of each text count for the skips. Where none of them has the two
 * bytes, the next place is shortest - 1 bytes on.
 */
#include "base/needles.h"

#include <string.h>

enum { SMALL = 4096 };

static size_t needles_pair(const char *at)
{
	return ((size_t)(uint8_t)at[0] << 4 ^ (uint8_t)at[1]) % NEEDLES_PAIRS;
}

void needles_init(struct needles *set, const char *const *texts, size_t count)
{
	set->count = 0;
	set->shortest = UINT8_MAX;
	for (size_t i = 0; i < count && set->count < NEEDLES_MOST; i++) {
		size_t length = strlen(texts[i]);
		set->texts[set->count] = texts[i];
		set->lengths[set->count++] = length;
		set->shortest = length < set->shortest ? length : set->shortest;
	}
	memset(set->skip, (int)set->shortest - 1, sizeof(set->skip));
	for (size_t i = 0; i < set->count; i++)
		for (size_t at = 0; at + 2 <= set->shortest; at++) {
			uint8_t *skip = &set->skip[needles_pair(set->texts[i] + at)];
			size_t left = set->shortest - 2 - at;
			*skip = left < *skip ? (uint8_t)left : *skip;
		}
}

/* The mask of the texts that begin at a place and end before `end`. */
static uint64_t needles_at(const struct needles *set, const char *at, const char *end)
{
	uint64_t found = 0;

	for (size_t i = 0; i < set->count; i++)
		if (*at == *set->texts[i] && set->lengths[i] <= (size_t)(end - at) &&
			!memcmp(at, set->texts[i], set->lengths[i]))
			found |= UINT64_C(1) << i;
	return found;
}

/* Searches from `last` on, as long as the two bytes end before `stop`. */
static uint64_t needles_in(
	const struct needles *set, const char *last, const char *stop, const char *end)
{
	uint64_t found = 0;

	while (last < stop - 1) {
		size_t skip = set->skip[needles_pair(last)];
		if (!skip)
			found |= needles_at(set, last + 2 - set->shortest, end);
		last += skip ? skip : 1;
	}
	return found;
}

uint64_t needles_find(const struct needles *set, const void *data, size_t bytes)
{
	const size_t shortest = set->shortest, part = bytes / 4;
	const char *begin = data, *end = begin + bytes;
	uint64_t found = 0;

	if (!set->count || bytes < shortest)
		return 0;
	if (bytes < SMALL)
		return needles_in(set, begin + shortest - 2, end, end);
	/* four places at a time: each waits for memory before it knows the next */
	const char *a = begin + shortest - 2, *b = a + part, *c = b + part, *d = c + part;
	const char *const stops[] = {b, c, d};
	while (a < stops[0] && b < stops[1] && c < stops[2] && d < end - 1) {
		size_t skips[] = {set->skip[needles_pair(a)], set->skip[needles_pair(b)],
			set->skip[needles_pair(c)], set->skip[needles_pair(d)]};
		if (!skips[0] || !skips[1] || !skips[2] || !skips[3]) {
			const char *const here[] = {a, b, c, d};
			for (int i = 0; i < 4; i++) {
				if (!skips[i])
					found |= needles_at(set, here[i] + 2 - shortest, end);
				skips[i] += !skips[i];
			}
		}
		a += skips[0];
		b += skips[1];
		c += skips[2];
		d += skips[3];
	}
	return found | needles_in(set, a, stops[0] + 1, end) |
	       needles_in(set, b, stops[1] + 1, end) | needles_in(set, c, stops[2] + 1, end) |
	       needles_in(set, d, end, end);
}
