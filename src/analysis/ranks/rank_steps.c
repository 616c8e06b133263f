/* SPDX-License-Identifier: Apache-2.0 */
/* Bricks are told of the worst steps alone, which are known before the ranks' time is cut. */
#include "analysis/ranks/rank_steps.h"

#include <errno.h>
#include <stdlib.h>
#include "analysis/statistics/statistics.h"
#include "base/order.h"
#include "base/scope.h"

COMPARATOR(rank_meetings_by_step, const struct rank_meeting *const, ORDER((*x)->step, (*y)->step))

COMPARATOR(rank_steps_by_waits, const struct rank_step *const,
	ORDER((*y)->waited_ns, (*x)->waited_ns) ?: ORDER((*x)->number, (*y)->number))

/* NULL: it is of none. */
static struct rank_step *rank_steps_of(
	const struct rank_job *job, const struct rank_meeting *meeting)
{
	uint32_t number = meeting->is_whole ? meeting->step : 0;
	size_t at = BISECT(i, 0, job->step_count, job->steps[i].number < number);

	return number && at < job->step_count && job->steps[at].number == number ? &job->steps[at]
										 : NULL;
}

/* A step becomes one of the worst if its ranks came further apart than those of another one. */
static void rank_steps_offer(struct rank_job *job, struct rank_step *step)
{
	uint32_t at = job->worst_count;

	while (at && job->worst[at - 1]->early_ns < step->early_ns)
		at--;
	if (at == RANK_WORST_STEPS || step->late == RUN_NONE)
		return;
	job->worst_count += job->worst_count < RANK_WORST_STEPS;
	for (uint32_t i = job->worst_count - 1; i > at; i--)
		job->worst[i] = job->worst[i - 1];
	job->worst[at] = step;
}

int rank_steps_choose(struct rank_job *job)
{
	SCOPED const struct rank_meeting **order =
		malloc((job->meeting_count + 1) * sizeof(*order));
	size_t count = 0;

	job->steps = malloc((job->meeting_count + 1) * sizeof(*job->steps));
	if (!order || !job->steps)
		return -ENOMEM;
	for (size_t i = 0; i < job->meeting_count; i++)
		if (job->meetings[i].is_whole && job->meetings[i].step)
			order[count++] = &job->meetings[i];
	if (count)
		qsort(order, count, sizeof(*order), rank_meetings_by_step);
	for (size_t i = 0; i < count; i++) {
		if (!i || order[i]->step != order[i - 1]->step)
			job->steps[job->step_count++] =
				(struct rank_step){.number = order[i]->step, .late = RUN_NONE};
		struct rank_step *step = &job->steps[job->step_count - 1];
		step->early_ns += order[i]->early_ns;
		if (order[i]->early_ns > step->late_ns) {
			step->late_ns = order[i]->early_ns;
			step->late = order[i]->last;
		}
	}
	for (size_t i = 0; i < job->step_count; i++)
		rank_steps_offer(job, &job->steps[i]);
	for (uint32_t i = 0; i < job->worst_count; i++) {
		job->worst[i]->longer = calloc(job->ordered_bricks + 2, sizeof(double));
		if (!job->worst[i]->longer)
			return -ENOMEM;
	}
	return 0;
}

void rank_steps_wait(struct rank_job *job, const struct rank_meeting *meeting, uint64_t ns)
{
	struct rank_step *step = rank_steps_of(job, meeting);

	if (step)
		step->waited_ns += ns;
}

double *rank_steps_longer(const struct rank_job *job, const struct rank_meeting *meeting)
{
	const struct rank_step *step = rank_steps_of(job, meeting);

	return step && step->late == meeting->last ? step->longer : NULL;
}

static void rank_steps_name(const struct rank_job *job, struct rank_step *step)
{
	size_t bricks = job->ordered_bricks, most = 0;

	for (size_t i = 1; i < bricks + 2; i++)
		most = step->longer[i] > step->longer[most] ? i : most;
	step->longer_ns = rank_job_ns(step->longer[most]);
	step->was_preempted = step->longer_ns && most == bricks + 1;
	step->brick = step->longer_ns && most < bricks ? job->bricks.items[most].name : NULL;
}

void rank_steps_finish(struct rank_job *job)
{
	SCOPED double *values = malloc((job->step_count + 1) * sizeof(*values));
	size_t count = 0;
	double most = -1;

	for (size_t i = 0; i < job->meeting_count; i++) {
		const struct rank_meeting *meeting = &job->meetings[i];
		struct rank_step *step = rank_steps_of(job, meeting);
		if (!step || meeting->aligned < 2)
			continue;
		step->mean_ns += meeting->work_ns / meeting->aligned;
		step->most_ns += meeting->work_most_ns;
	}
	for (size_t i = 0; i < job->step_count && values; i++) {
		double imbalance = rank_step_imbalance(&job->steps[i]);
		most = fmax(most, imbalance);
		if (imbalance >= 0)
			values[count++] = imbalance;
	}
	job->step_imbalance = count ? statistics_median(values, count) : -1;
	job->step_imbalance_most = most;
	for (uint32_t i = 0; i < job->worst_count; i++)
		rank_steps_name(job, job->worst[i]);
	if (job->worst_count)
		qsort(job->worst, job->worst_count, sizeof(*job->worst), rank_steps_by_waits);
}

void rank_steps_fini(struct rank_job *job)
{
	for (size_t i = 0; i < job->step_count; i++)
		free(job->steps[i].longer);
	free(job->steps);
}
