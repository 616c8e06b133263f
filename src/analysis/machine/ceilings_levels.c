/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which level of memory holds a working set: what the bandwidth of larger and larger sets tells.
 * It falls where a cache ends, and that may be long before the size that the CPU tells: a virtual
 * machine shares its cache with others.
 */
#include "analysis/machine/ceilings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Levels whose bandwidths differ less are one. */
static const double distinct = 1.2, flat = 1.1;

/* The best that was read of working sets as large, or larger. */
static double read_at(const struct ceilings *c, uint32_t threads, uint64_t bytes)
{
	double best = 0;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads == threads && row->bytes >= bytes && row->rate.best > best &&
			!strcmp(row->kernel, "read"))
			best = row->rate.best;
	}
	return best;
}

/* The largest working set that was read at such a rate; 0: none was. */
static uint64_t largest_at(const struct ceilings *c, uint32_t threads, double rate)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads == threads && row->bytes > largest && row->rate.best >= rate &&
			!strcmp(row->kernel, "read"))
			largest = row->bytes;
	}
	return largest;
}

uint64_t ceilings_told_bytes(const struct ceilings_level *level, uint32_t threads)
{
	uint32_t shared = level->shared ? level->shared : 1;

	return level->bytes * ((threads + shared - 1) / shared);
}

/* What a level gives, of sets that are too large for the one before it. */
static double rate_of_level(const struct ceilings *c, size_t level, uint32_t threads)
{
	uint64_t before = level ? ceilings_told_bytes(&c->levels[level - 1], threads) : 0;
	uint64_t largest = largest_at(c, threads, 0);

	if (level + 1 == c->level_count)
		return read_at(c, threads, largest);
	return read_at(c, threads, 2 * before < largest ? 2 * before : largest);
}

/*
 * True if the largest sets come from memory: they are well above the last cache, or bandwidth has
 * fallen and falls no more.
 */
static bool reaches_memory(const struct ceilings *c, uint32_t threads)
{
	uint64_t largest = largest_at(c, threads, 0);
	double last = read_at(c, threads, largest);

	if (c->level_count < 2)
		return true;
	const struct ceilings_level *cache = &c->levels[c->level_count - 2];
	/* of a device's caches nobody tells the size; its sweep takes all that it may */
	if (!cache->bytes || largest >= 2 * ceilings_told_bytes(cache, threads))
		return true;
	return read_at(c, threads, largest / 4) <= flat * last &&
	       rate_of_level(c, c->level_count - 2, threads) >= distinct * last;
}

static int add_usable(struct ceilings *c, size_t level, uint32_t threads, uint64_t bytes)
{
	struct ceilings_usable *rows = realloc(c->usable, (c->usable_count + 1) * sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	c->usable = rows;
	struct ceilings_usable *row = &rows[c->usable_count++];
	*row = (struct ceilings_usable){.threads = threads, .bytes = bytes};
	snprintf(row->level, sizeof(row->level), "%s", c->levels[level].name);
	return 0;
}

/* A level ends halfway between its bandwidth and the next one's, on a logarithmic scale. */
static int find_usable(struct ceilings *c, uint32_t threads)
{
	uint64_t before = 0;
	int rc = 0;

	for (size_t i = 0; i + 1 < c->level_count && !rc; i++) {
		double rate = rate_of_level(c, i, threads);
		double next = rate_of_level(c, i + 1, threads);
		uint64_t bytes = rate >= distinct * next ? largest_at(c, threads, sqrt(rate * next))
							 : before;
		if (i + 2 == c->level_count && !reaches_memory(c, threads))
			bytes = ceilings_told_bytes(&c->levels[i], threads);
		before = bytes > before ? bytes : before;
		if (before)
			rc = add_usable(c, i, threads, before);
	}
	return rc;
}

/* The row is the first of its number of threads. */
static bool is_first(const struct ceilings *c, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (c->bandwidth[i].threads == c->bandwidth[row].threads)
			return false;
	return true;
}

int ceilings_find_levels(struct ceilings *c)
{
	int rc = 0;

	free(c->usable);
	c->usable = NULL;
	c->usable_count = 0;
	for (size_t i = 0; i < c->bandwidth_count && !rc; i++)
		if (is_first(c, i))
			rc = find_usable(c, c->bandwidth[i].threads);
	for (size_t i = 0; i < c->bandwidth_count && c->level_count && !rc; i++) {
		struct ceilings_bandwidth *row = &c->bandwidth[i];
		size_t level = ceilings_level_of(c, row->threads, row->bytes);
		snprintf(row->level, sizeof(row->level), "%s", c->levels[level].name);
	}
	return rc;
}

uint64_t ceilings_usable_bytes(const struct ceilings *c, size_t at, uint32_t threads)
{
	const struct ceilings_level *level = &c->levels[at];

	for (size_t i = 0; i < c->usable_count; i++)
		if (c->usable[i].threads == threads && !strcmp(c->usable[i].level, level->name))
			return c->usable[i].bytes;
	return c->usable_count ? 0 : ceilings_told_bytes(level, threads);
}

size_t ceilings_level_of(const struct ceilings *c, uint32_t threads, uint64_t bytes)
{
	for (size_t i = 0; i + 1 < c->level_count; i++)
		if (bytes <= ceilings_usable_bytes(c, i, threads))
			return i;
	return c->level_count ? c->level_count - 1 : 0;
}
