/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Means and medians of stretches of the run are held against each other, as neighbouring
 * collectives may have the same cause.
 */
#include "analysis/ranks/rank_late.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/statistics.h"
#include "base/scope.h"

/* By so much a rank had more work before a collective than the mean of the others. */
static double rank_late_behind(const struct rank_job *job, const struct rank_call *call)
{
	const struct rank_meeting *meeting = &job->meetings[call->meeting];
	double work = (double)call->work_ns;

	return work - (meeting->work_ns - work) / (meeting->aligned - 1);
}

enum { STRETCHES = 20, FEW_COMPARED = 8 };

/* How much more work a rank had than the others, in each stretch of the run. */
struct rank_stretches {
	size_t count; /* 0: nothing can be compared */
	double means[STRETCHES], medians[STRETCHES];
};

static void rank_late_stretches(
	struct rank_stretches *all, const struct rank_job *job, uint32_t rank, double *room)
{
	const struct rank_row *row = &job->rows[rank];
	size_t count = row->calls.count ? row->calls.count - 1 : 0, compared = 0;

	for (size_t i = 1; i <= count && compared < FEW_COMPARED; i++)
		compared += job->meetings[row->calls.list[i].meeting].aligned > 1;
	if (compared < FEW_COMPARED || !job->clocks[row->clock].is_aligned)
		return;
	all->count = count < STRETCHES ? count : STRETCHES;
	for (size_t s = 0; s < all->count; s++) {
		size_t from = 1 + count * s / all->count, to = 1 + count * (s + 1) / all->count;
		size_t n = 0;
		for (size_t i = from; i < to; i++)
			if (job->meetings[row->calls.list[i].meeting].aligned > 1)
				all->means[s] += room[n++] =
					rank_late_behind(job, &row->calls.list[i]);
		all->means[s] /= (double)(to - from);
		all->medians[s] = n ? statistics_median(room, n) : 0;
	}
}

/*
 * By so much a rank's median of a stretch is beyond the middle one of the others' (the upper one of
 * two). Among ranks that do the same, it is so for no more than half of them, whatever their work
 * is spread like: where few turns are short, the medians of all are above the others' means.
 */
static double rank_late_beyond(const struct rank_stretches *all, const struct rank_job *job,
	uint32_t rank, size_t stretch, double *others)
{
	size_t n = 0;

	for (uint32_t r = 0; r < job->count; r++)
		if (r != rank && stretch < all[r].count)
			others[n++] = all[r].medians[stretch];
	if (!n)
		return 0;
	statistics_median(others, n); /* sorts them */
	return all[rank].medians[stretch] - others[n / 2];
}

/*
 * The sign test, whose chance is that of so few stretches in which a rank was not beyond the
 * others, if it is one of them. A few long delays, which are nobody's fault, count no more than
 * others, also in how late it is.
 */
static bool rank_late_by_signs(const struct rank_stretches *all, const struct rank_job *job,
	uint32_t rank, double least_ns, double chance, double *room)
{
	size_t count = all[rank].count, less = 0;
	double ways = 1, sum = 0, beyond[STRETCHES];

	for (size_t s = 0; s < count; s++) {
		beyond[s] = rank_late_beyond(all, job, rank, s, room);
		less += beyond[s] <= 0;
	}
	for (size_t i = 0; i <= less; i++) {
		sum += ways;
		ways *= (double)(count - i) / (double)(i + 1);
	}
	return ldexp(sum, -(int)count) < chance && statistics_median(beyond, count) > least_ns;
}

void rank_late_judge(struct rank_job *job)
{
	static const double chance = 1e-3, least = 3e-3;
	size_t longest = job->count;

	for (uint32_t r = 0; r < job->count; r++) {
		job->rows[r].behind_ns = NAN;
		longest = job->rows[r].calls.count > longest ? job->rows[r].calls.count : longest;
	}
	SCOPED double *room = malloc((longest + 1) * sizeof(*room));
	SCOPED struct rank_stretches *all = calloc((size_t)job->count + 1, sizeof(*all));
	if (!room || !all)
		return;

	for (uint32_t r = 0; r < job->count; r++)
		rank_late_stretches(&all[r], job, r, room);
	for (uint32_t r = 0; r < job->count; r++) {
		struct rank_row *row = &job->rows[r];
		const double *means = all[r].means;
		size_t count = all[r].count;
		double sum = 0, squares = 0;
		if (!count)
			continue;
		job->is_judged = true;
		for (size_t s = 0; s < count; s++)
			sum += means[s];
		double mean = sum / (double)count;
		for (size_t s = 0; s < count; s++)
			squares += (means[s] - mean) * (means[s] - mean);
		double error = sqrt(squares / (double)(count - 1) / (double)count);
		double least_ns = least * (double)row->work_ns / (double)(row->calls.count - 1);
		row->behind_ns = mean;
		row->is_late =
			row->caused_ns && mean > least_ns &&
			(error == 0 ||
				statistics_t_tails(mean / error, (unsigned)count - 1) * job->count <
					chance ||
				rank_late_by_signs(
					all, job, r, least_ns, chance / 2 / job->count, room));
	}
}
