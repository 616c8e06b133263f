/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long single executions took, by either basis: sums of lanes, then of rows. Called by
 * summary_sample.c, summary_accumulator.c and summary_rows.c.
 */
#include "analysis/accounts/percentile.h"
#include "analysis/accounts/summary_rows.h"

void sums_duration(struct summary_sums *sums, uint64_t ns)
{
	sums->count++;
	sums->sum_ns += ns;
	if (ns < sums->min_ns)
		sums->min_ns = ns;
	if (ns > sums->max_ns)
		sums->max_ns = ns;
}

void lengths_add(struct summary_lengths *to, const struct summary_lengths *from)
{
	if (from->count && (!to->count || from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->sum_ns += from->sum_ns;
}

struct summary_lengths lengths_of(const struct summary_sums *sums, enum summary_basis basis)
{
	if (basis == BASIS_CPU)
		return sums->on_cpu;
	return (struct summary_lengths){sums->count, sums->sum_ns, sums->min_ns, sums->max_ns};
}

const char *summary_basis_name(enum summary_basis basis)
{
	static const char *const names[] = {"wall", "cpu", "mixed"};
	return names[basis];
}

void summary_row_lengths(struct summary_row *row, enum summary_basis basis,
	const struct summary_lengths *lengths, const uint64_t *histogram,
	const struct brick_clock *clock)
{
	uint64_t *const out[] = {&row->p50_ns, &row->p95_ns, &row->p99_ns};
	static const unsigned percents[] = {50, 95, 99};
	row->basis = basis;
	row->sum_ns = lengths->sum_ns;
	row->avg_ns = lengths->count ? lengths->sum_ns / lengths->count : ANALYSIS_UNKNOWN;
	row->min_ns = lengths->count ? lengths->min_ns : ANALYSIS_UNKNOWN;
	row->max_ns = lengths->count ? lengths->max_ns : ANALYSIS_UNKNOWN;
	for (size_t i = 0; i < 3; i++) {
		uint64_t value =
			histogram ? percentile_histogram(histogram, percents[i]) : ANALYSIS_UNKNOWN;
		if (clock && value != ANALYSIS_UNKNOWN)
			value = brick_clock_duration_ns(clock, value);
		*out[i] = percentile_bounded(value, row->min_ns, row->max_ns);
	}
}
