/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up sums. Only the first duration in an octave of a histogram allocates. */
#include "analysis/accounts/row_sums.h"

#include <stdlib.h>

#include "base/members.h"
#include "brick/recorded.h"

struct summary_sums *sums_create(size_t count)
{
	struct summary_sums *sums = malloc((count + 1) * sizeof(*sums));
	if (sums)
		sums_clear(sums, count);
	return sums;
}

void sums_destroy(struct summary_sums *sums, size_t count)
{
	for (size_t i = 0; sums && i < count; i++)
		free(sums[i].histogram);
	free(sums);
}

void sums_clear(struct summary_sums *sums, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sums[i] = (struct summary_sums){.min_ns = UINT64_MAX};
}

static void add_extremes(struct summary_sums *to, uint64_t min_ns, uint64_t max_ns)
{
	if (min_ns < to->min_ns)
		to->min_ns = min_ns;
	if (max_ns > to->max_ns)
		to->max_ns = max_ns;
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

void sums_add_stat(struct summary_sums *to, const struct run_stat *stat, uint64_t open_ns)
{
	to->count += stat->count;
	to->sum_ns += stat->total_ns + stat->nested_ns;
	to->total_ns += stat->total_ns;
	to->self_ns += stat->self_ns + open_ns;
	to->wait_ns += stat->wait_ns;
	add_extremes(to, stat->count ? stat->min_ns : UINT64_MAX, stat->max_ns);
	to->elements += stat->elements;
	to->bytes += stat->bytes + stat->bytes_out;
	to->bytes_out += stat->bytes_out;
	to->flops += stat->flops;
}

void rests_add(struct summary_rests *to, const struct summary_rests *from)
{
	members_add(to, from, preempted_ns, preempted_unevaluated_ns, blocked_ns,
		blocked_unevaluated_ns, unattributed_ns, unattributed_unevaluated_ns, left_out_ns);
}

/* Adds the members that statistics of threads lack. */
static void add_sampled(struct summary_sums *to, const struct summary_sums *from)
{
	to->wall_ns += from->wall_ns;
	off_times_add(&to->wall_off, from->wall_off);
	to->unevaluated_ns += from->unevaluated_ns;
	to->open_ns += from->open_ns;
	sums_add_off(to, from->off);
	lengths_add(&to->on_cpu, &from->on_cpu);
	to->estimated += from->estimated;
	to->sources |= from->sources;
	to->flags |= from->flags;
}

void sums_add_exact(
	struct summary_sums *to, const struct summary_sums *sampled, const struct run_stat *stat)
{
	sums_add_stat(to, stat, sampled->open_ns);
	add_sampled(to, sampled);
}

void sums_add(struct summary_sums *to, const struct summary_sums *from)
{
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	to->total_ns += from->total_ns;
	to->self_ns += from->self_ns;
	to->wait_ns += from->wait_ns;
	add_extremes(to, from->min_ns, from->max_ns);
	to->elements += from->elements;
	to->bytes += from->bytes;
	to->bytes_out += from->bytes_out;
	to->flops += from->flops;
	add_sampled(to, from);
}

void sums_add_duration(struct summary_sums *sums, uint64_t ns)
{
	sums->count++;
	sums->sum_ns += ns;
	add_extremes(sums, ns, ns);
}

void sums_add_work(struct summary_sums *sums, const struct run_site *site)
{
	sums->flags |= site->flags;
	sums->elements += site->elements;
	sums->bytes += site->bytes;
	sums->flops += site->flops;
}

bool sums_add_to_histogram(struct summary_sums *sums, uint64_t ns)
{
	return ns_lengths_add(&sums->histogram, brick_histogram_index(ns), 1);
}

bool sums_add_histogram(struct summary_sums *sums, const struct ns_lengths *histogram)
{
	bool good = true;

	LENGTHS_EACH (i, &histogram->of_ns) {
		uint64_t count = ns_lengths_at(histogram, i);
		good &= !count || ns_lengths_add(&sums->histogram, i, count);
	}
	return good;
}
