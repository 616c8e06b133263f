/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of lengths, as struct ticks_histogram has them, in less memory: an octave gets buckets
 * once something is in one of them. Most bricks use two or three of 39, and a program may have
 * thousands. Each unit is a type of its own. Adding: one thread at a time; reading: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "brick/recorded.h"

enum {
	LENGTHS_IN_OCTAVE = 1 << BRICK_HISTOGRAM_SUB_BITS,
	LENGTHS_OCTAVES = BRICK_HISTOGRAM_BUCKETS / LENGTHS_IN_OCTAVE,
};

struct lengths_octaves {
	uint8_t places[LENGTHS_OCTAVES]; /* in `buckets`, from 1; 0: all of its buckets are 0 */
	uint8_t count;			 /* of those with a place */
	uint64_t buckets[][LENGTHS_IN_OCTAVE];
};

/* NULL is an empty histogram. Both are freed by free(). */
struct ticks_lengths {
	struct lengths_octaves of_ticks;
};
struct ns_lengths {
	struct lengths_octaves of_ns;
};

/* The count of a bucket (brick_histogram_index()). */
static inline uint64_t lengths_at(const struct lengths_octaves *o, uint32_t bucket)
{
	uint32_t place = o ? o->places[bucket / LENGTHS_IN_OCTAVE] : 0;

	return place ? o->buckets[place - 1][bucket % LENGTHS_IN_OCTAVE] : 0;
}

/* The next bucket from one on that may hold something; BRICK_HISTOGRAM_BUCKETS: none. */
static inline uint32_t lengths_next(const struct lengths_octaves *o, uint32_t bucket)
{
	while (o && bucket < BRICK_HISTOGRAM_BUCKETS && !o->places[bucket / LENGTHS_IN_OCTAVE])
		bucket = (bucket / LENGTHS_IN_OCTAVE + 1) * LENGTHS_IN_OCTAVE;
	return o ? bucket : BRICK_HISTOGRAM_BUCKETS;
}

#define LENGTHS_EACH(i, o)                                                 \
	for (uint32_t i = lengths_next(o, 0); i < BRICK_HISTOGRAM_BUCKETS; \
		i = lengths_next(o, i + 1))

static inline uint64_t lengths_count(const struct lengths_octaves *o)
{
	uint64_t count = 0;

	LENGTHS_EACH (i, o)
		count += lengths_at(o, i);
	return count;
}

/* The bucket itself; NULL: no memory. */
static inline uint64_t *lengths_bucket(struct lengths_octaves **octaves, uint32_t bucket)
{
	struct lengths_octaves *o = *octaves;
	uint32_t octave = bucket / LENGTHS_IN_OCTAVE;

	if (!o || !o->places[octave]) {
		uint32_t count = o ? o->count : 0;
		o = realloc(o, sizeof(*o) + (count + 1) * sizeof(*o->buckets));
		if (!o)
			return NULL;
		if (!count)
			*o = (struct lengths_octaves){.count = 0};
		for (uint32_t i = 0; i < LENGTHS_IN_OCTAVE; i++)
			o->buckets[count][i] = 0;
		o->count++;
		o->places[octave] = o->count;
		*octaves = o;
	}
	return &o->buckets[o->places[octave] - 1][bucket % LENGTHS_IN_OCTAVE];
}

/* Adds to a histogram that may move. False: no memory. */
static inline bool ticks_lengths_add(struct ticks_lengths **to, uint32_t bucket, uint64_t count)
{
	struct lengths_octaves *o = *to ? &(*to)->of_ticks : NULL;
	uint64_t *at = lengths_bucket(&o, bucket);

	*to = (struct ticks_lengths *)o;
	if (at)
		*at += count;
	return at != NULL;
}

static inline bool ns_lengths_add(struct ns_lengths **to, uint32_t bucket, uint64_t count)
{
	struct lengths_octaves *o = *to ? &(*to)->of_ns : NULL;
	uint64_t *at = lengths_bucket(&o, bucket);

	*to = (struct ns_lengths *)o;
	if (at)
		*at += count;
	return at != NULL;
}

static inline uint64_t ticks_lengths_at(const struct ticks_lengths *lengths, uint32_t bucket)
{
	return lengths_at(lengths ? &lengths->of_ticks : NULL, bucket);
}

static inline uint64_t ns_lengths_at(const struct ns_lengths *lengths, uint32_t bucket)
{
	return lengths_at(lengths ? &lengths->of_ns : NULL, bucket);
}
