/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of lengths, as struct ticks_histogram has them, in less memory: an octave gets buckets
 * once something is in one of them. Most bricks use two or three of the 39 octaves, and a program
 * may have thousands of bricks. Ticks and ns have types of their own, so that nobody mixes them.
 * One thread at a time may add to a histogram; any number may read one that nobody changes.
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
	uint8_t count;			 /* octaves with a place: members of `buckets` */
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

/* The first bucket from `bucket` on whose octave has buckets; BRICK_HISTOGRAM_BUCKETS: none. */
static inline uint32_t lengths_next(const struct lengths_octaves *o, uint32_t bucket)
{
	while (o && bucket < BRICK_HISTOGRAM_BUCKETS && !o->places[bucket / LENGTHS_IN_OCTAVE])
		bucket = (bucket / LENGTHS_IN_OCTAVE + 1) * LENGTHS_IN_OCTAVE;
	return o ? bucket : BRICK_HISTOGRAM_BUCKETS;
}

/* Runs over buckets i, some of which may be 0. o may be NULL. */
#define LENGTHS_EACH(i, o)                                                 \
	for (uint32_t i = lengths_next(o, 0); i < BRICK_HISTOGRAM_BUCKETS; \
		i = lengths_next(o, i + 1))

/* The number of all lengths in the histogram. */
static inline uint64_t lengths_count(const struct lengths_octaves *o)
{
	uint64_t count = 0;

	LENGTHS_EACH (i, o)
		count += lengths_at(o, i);
	return count;
}

/* The address of a bucket, made if need be; *octaves may move. NULL: no memory, nothing changed. */
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

/* Adds `count` lengths to a bucket; *to may be NULL, and may move. False: no memory. */
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
