/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings that contradict each other. A measurement can only be too low: other work takes the CPU
 * or the memory away. So of two figures that cannot both be, the lower one is in doubt. Called by
 * the sweep, which measures it again, and by whoever looks for a roof, and does not take it.
 */
#include <string.h>

#include "analysis/machine/ceilings.h"

/* Shares of what another figure asks for that are still believed: repetitions differ. */
static const double like = 0.9;		/* of the same resource */
static const double more_threads = 0.7; /* which also get into each other's way */
static const double f64_of_f32 = 0.25;	/* half of it on any CPU, or as much */
static const double wider = 0.7;	/* instructions, which a CPU may run at a lower frequency */

static double greater(double a, double b)
{
	return a > b ? a : b;
}

/* What so many threads reach at least, as others reached `rate`. */
static double least_of_threads(double rate, uint32_t threads, uint32_t others)
{
	return threads < others ? like * rate * threads / others : more_threads * rate;
}

/* Instruction sets come from the narrowest to the widest. */
static size_t width_of(const struct ceilings *c, const char *isa)
{
	size_t i = 0;

	while (i < c->compute_count && strcmp(c->compute[i].isa, isa))
		i++;
	return i;
}

static int is_wider(const struct ceilings *c, const struct ceilings_compute *row,
	const struct ceilings_compute *other)
{
	return other->threads == row->threads && !strcmp(other->type, row->type) &&
	       width_of(c, other->isa) < width_of(c, row->isa);
}

/*
 * The least that a figure must be, going by the others: 8-bit products are not slower than f32 of
 * the same instruction set, a nearer cache not than a farther one, n threads do not n times as much
 * as one, nor far less. 0: no other says anything of it.
 */
static double ceilings_least_compute(const struct ceilings *c, const struct ceilings_compute *row)
{
	int is_f32 = !strcmp(row->type, "f32"), is_f64 = !strcmp(row->type, "f64");
	int is_short = !strcmp(row->type, "i8") || !strcmp(row->type, "bf16");
	double least = 0;

	for (size_t i = 0; i < c->compute_count; i++) {
		const struct ceilings_compute *other = &c->compute[i];
		double rate = other->rate.best;
		if (is_wider(c, row, other))
			least = greater(least, wider * rate);
		if (strcmp(other->isa, row->isa))
			continue;
		if (other->threads != row->threads && !strcmp(other->type, row->type))
			least = greater(
				least, least_of_threads(rate, row->threads, other->threads));
		if (other->threads == row->threads &&
			((is_short && !strcmp(other->type, "f32")) ||
				(is_f32 && !strcmp(other->type, "f64"))))
			least = greater(least, like * rate);
		if (other->threads == row->threads && is_f64 && !strcmp(other->type, "f32"))
			least = greater(least, f64_of_f32 * rate);
	}
	return least;
}

/* Levels nearer than a thread's come before it. */
static size_t distance_of(const struct ceilings *c, const char *level)
{
	size_t i = 0;

	while (i < c->level_count && strcmp(c->levels[i].name, level))
		i++;
	return i;
}

static int is_same_kernel(const struct ceilings_bandwidth *a, const struct ceilings_bandwidth *b)
{
	return !strcmp(a->kernel, b->kernel) && !strcmp(a->isa, b->isa);
}

static double ceilings_least_bandwidth(
	const struct ceilings *c, const struct ceilings_bandwidth *row)
{
	size_t distance = distance_of(c, row->level);
	double least = 0;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *other = &c->bandwidth[i];
		double rate = other->rate.best;
		if (!is_same_kernel(row, other))
			continue;
		if (other->threads == row->threads && distance_of(c, other->level) > distance)
			least = greater(least, like * rate);
		if (other->threads != row->threads && !strcmp(other->level, row->level))
			least = greater(
				least, least_of_threads(rate, row->threads, other->threads));
	}
	return least;
}

int ceilings_compute_doubtful(const struct ceilings *c, const struct ceilings_compute *row)
{
	return row->rate.best < ceilings_least_compute(c, row);
}

/* The best of the sizes of a working set stands for its level. */
int ceilings_bandwidth_doubtful(const struct ceilings *c, const struct ceilings_bandwidth *row)
{
	double best = row->rate.best;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *other = &c->bandwidth[i];
		if (is_same_kernel(row, other) && other->threads == row->threads &&
			!strcmp(other->level, row->level))
			best = greater(best, other->rate.best);
	}
	return best < ceilings_least_bandwidth(c, row);
}

size_t ceilings_doubtful(const struct ceilings *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->compute_count; i++)
		count += (size_t)ceilings_compute_doubtful(c, &c->compute[i]);
	for (size_t i = 0; i < c->bandwidth_count; i++)
		count += (size_t)ceilings_bandwidth_doubtful(c, &c->bandwidth[i]);
	return count;
}
