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

/*
 * By so much a rank had more work before a collective than the mean of the others. is_busy: without
 * time that threads were preempted.
 */
static double rank_late_behind(
	const struct rank_job *job, const struct rank_call *call, bool is_busy)
{
	const struct rank_meeting *meeting = &job->meetings[call->meeting];
	double work = (double)(is_busy ? call->busy_ns : call->work_ns);

	return work -
	       ((is_busy ? meeting->busy_ns : meeting->work_ns) - work) / (meeting->aligned - 1);
}

/* Places of a step's collectives: the last one has all that come later. */
enum { STRETCHES = 20, FEW_COMPARED = 8, PLACES = 16, ALL_PLACES = -1 };

/* Goes on to the next collective of a rank: its place in its step, behind that of `before`. */
static int rank_late_place(
	const struct rank_job *job, const struct rank_row *row, size_t call, int before)
{
	uint32_t step = job->meetings[row->calls.list[call].meeting].step;
	bool goes_on =
		call && step && job->meetings[row->calls.list[call - 1].meeting].step == step;

	return !goes_on ? 0 : before + 1 < PLACES ? before + 1 : before;
}

/* How many places the steps of a rank have; 1 without steps. */
static int rank_late_places(const struct rank_job *job)
{
	const struct rank_row *row = job->rows;
	int place = 0, most = 0;

	for (size_t i = 0; job->count && i < row->calls.count; i++) {
		place = rank_late_place(job, row, i, place);
		most = place > most ? place : most;
	}
	return most + 1;
}

/* How much more work a rank had than the others, in each stretch of the run. */
struct rank_stretches {
	size_t count; /* 0: nothing can be compared */
	double means[STRETCHES], medians[STRETCHES];
	double work_ns; /* of the rank for each collective that is compared, on average */
	double part;	/* these are of all collectives */
};

static void rank_late_stretches(struct rank_stretches *all, const struct rank_job *job,
	uint32_t rank, bool is_busy, int place, double *room)
{
	const struct rank_row *row = &job->rows[rank];
	size_t count = 0, comparable = 0;
	int at = 0;

	*all = (struct rank_stretches){0};
	for (size_t i = 1; i < row->calls.count; i++) {
		const struct rank_call *call = &row->calls.list[i];
		const struct rank_meeting *meeting = &job->meetings[call->meeting];
		at = rank_late_place(job, row, i, at);
		if (meeting->aligned < 2 || (is_busy && meeting->lacks_busy))
			continue;
		comparable++;
		all->work_ns += (double)(is_busy ? call->busy_ns : call->work_ns);
		if (place == ALL_PLACES || place == at)
			room[count++] = rank_late_behind(job, call, is_busy);
	}
	if (count < FEW_COMPARED || !job->clocks[row->clock].is_aligned)
		return;
	all->work_ns /= (double)count;
	all->part = (double)count / (double)comparable;
	all->count = count < STRETCHES ? count : STRETCHES;
	for (size_t s = 0; s < all->count; s++) {
		size_t from = count * s / all->count, to = count * (s + 1) / all->count;
		for (size_t i = from; i < to; i++)
			all->means[s] += room[i];
		all->means[s] /= (double)(to - from);
		all->medians[s] = statistics_median(&room[from], to - from);
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

/* Judges a rank by its means and medians of stretches; it stays late if it was found so before. */
static void rank_late_judge_row(struct rank_job *job, uint32_t rank,
	const struct rank_stretches *all, double chance, double *room)
{
	static const double least = 3e-3;
	struct rank_row *row = &job->rows[rank];
	const double *means = all[rank].means;
	size_t count = all[rank].count;
	double sum = 0, squares = 0;

	if (!count || row->is_late)
		return;
	job->is_judged = true;
	for (size_t s = 0; s < count; s++)
		sum += means[s];
	double mean = sum / (double)count;
	for (size_t s = 0; s < count; s++)
		squares += (means[s] - mean) * (means[s] - mean);
	double error = sqrt(squares / (double)(count - 1) / (double)count);
	double least_ns = least * all[rank].work_ns;
	row->is_late = row->caused_ns && mean > least_ns &&
		       (error == 0 ||
			       statistics_t_tails(mean / error, (unsigned)count - 1) * job->count <
				       chance ||
			       rank_late_by_signs(
				       all, job, rank, least_ns, chance / 2 / job->count, room));
	row->behind_ns = mean * all[rank].part;
}

/*
 * On busy machines other programs preempt ranks by chance, and hide a difference in their own work:
 * so where that is known, half of the chance is for the work without it, which comes first. A
 * difference at one place of each step would be hidden by the noise of the others: all places
 * together and each of several have an equal part of the chance.
 */
void rank_late_judge(struct rank_job *job)
{
	int places = rank_late_places(job);
	double chance = (job->has_preempted ? 0.5e-3 : 1e-3) / (places > 1 ? places + 1 : 1);
	size_t longest = job->count;

	for (uint32_t r = 0; r < job->count; r++) {
		job->rows[r].behind_ns = NAN;
		longest = job->rows[r].calls.count > longest ? job->rows[r].calls.count : longest;
	}
	SCOPED double *room = malloc((longest + 1) * sizeof(*room));
	SCOPED struct rank_stretches *all = calloc((size_t)job->count + 1, sizeof(*all));
	if (!room || !all)
		return;
	for (int is_busy = job->has_preempted; is_busy >= 0; is_busy--)
		for (int place = places > 1 ? places - 1 : ALL_PLACES; place >= ALL_PLACES;
			place--) {
			for (uint32_t r = 0; r < job->count; r++)
				rank_late_stretches(&all[r], job, r, is_busy, place, room);
			for (uint32_t r = 0; r < job->count; r++) {
				rank_late_judge_row(job, r, all, chance, room);
				job->rows[r].is_late_busy |= is_busy && job->rows[r].is_late;
			}
		}
}
