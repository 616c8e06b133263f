/* SPDX-License-Identifier: Apache-2.0 */
/* Called by the report. */
#include "analysis/steps/undisturbed.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/percentile.h"
#include "analysis/accounts/unknown.h"

#define ALIKE 1.2 /* times */

/* When in that time the lane's thread first had to give way to another; else its end. */
static uint64_t first_preempted(const struct run_lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	for (size_t i = run_off_cpu_from(lane, begin_ns); i < lane->off_cpu_count; i++) {
		const struct run_off_cpu *off = &lane->off_cpu[i];
		if (off->begin_ns >= end_ns)
			break;
		if (off->preempted)
			return off->begin_ns > begin_ns ? off->begin_ns : begin_ns;
	}
	return end_ns;
}

static uint64_t cpu_between(const struct run_lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	struct run_off_times off = run_off_cpu_between(lane, begin_ns, end_ns);
	return end_ns - begin_ns - off.blocked_ns - off.preempted_ns;
}

/* When in that time a thread that recorded in the step first had to give way; else its end. */
static uint64_t first_interruption(
	const struct run *run, const struct run_step *step, uint64_t begin_ns, uint64_t end_ns)
{
	for (uint32_t l = 0; l < run->lane_count; l++) {
		uint64_t ns = first_preempted(&run->lanes[l], begin_ns, end_ns);
		if (ns < end_ns && step_index_records_in(run, l, step))
			end_ns = ns;
	}
	return end_ns;
}

/* When the step before it on its lane began; else when itself did. */
static uint64_t begin_before(const struct run *run, size_t step)
{
	const struct run_step *of = &run->steps[step];

	while (step--)
		if (run->steps[step].lane == of->lane && run->steps[step].end_ns <= of->begin_ns)
			return run->steps[step].begin_ns;
	return of->begin_ns;
}

struct undisturbed_step undisturbed_step(const struct run *run, size_t number)
{
	const struct run_step *step = &run->steps[number];
	uint64_t before_ns = begin_before(run, number);
	uint64_t until_ns = first_interruption(run, step, step->begin_ns, step->end_ns);

	return (struct undisturbed_step){
		.cpu_ns = cpu_between(&run->lanes[step->lane], step->begin_ns, until_ns),
		.interrupted = until_ns < step->end_ns,
		.is_behind =
			first_interruption(run, step, before_ns, step->begin_ns) < step->begin_ns,
	};
}

static struct undisturbed_percentiles percentiles(struct percentile_time *times, size_t n)
{
	percentile_sort_times(times, n);
	return (struct undisturbed_percentiles){percentile_censored(times, n, 50),
		percentile_censored(times, n, 95), percentile_censored(times, n, 99)};
}

/* Lists of the steps of one phase. */
struct lists {
	struct percentile_time *all, *alone; /* as they were; those that tell how they are alone */
	size_t alone_count;
};

static void add_step(
	struct undisturbed *u, struct lists *lists, const struct run *run, size_t number)
{
	const struct run_step *step = &run->steps[number];
	struct undisturbed_step by_itself = undisturbed_step(run, number);

	lists->all[u->count++].ns =
		cpu_between(&run->lanes[step->lane], step->begin_ns, step->end_ns);
	u->interrupted += (uint64_t)by_itself.interrupted;
	if (!by_itself.is_behind)
		lists->alone[lists->alone_count++] =
			(struct percentile_time){by_itself.cpu_ns, by_itself.interrupted};
	else
		u->behind += !by_itself.interrupted;
}

/*
 * More than a tenth was interrupted, and the middle one of the second half of the steps is not that
 * of the first. Sorts each half.
 */
static int is_drifting(const struct undisturbed *u, struct percentile_time *all)
{
	size_t half = u->count / 2;

	if (half < 2 || 10 * u->interrupted <= u->count)
		return 0;
	percentile_sort_times(all, half);
	percentile_sort_times(all + half, half);
	double first = (double)all[half / 2].ns, second = (double)all[half + half / 2].ns;
	return first > ALIKE * second || second > ALIKE * first;
}

/* With what was between it and the step before. */
static bool is_known(const struct run *run, size_t step)
{
	return run_off_cpu_is_known(run, begin_before(run, step), run->steps[step].end_ns);
}

static bool all_are_known(const struct run *run, enum step_phase phase)
{
	for (size_t i = 0; run->off_cpu.gap_count && i < run->step_count; i++)
		if (step_phase_of(&run->steps[i]) == phase && !is_known(run, i))
			return false;
	return run->off_cpu.source != OFF_CPU_UNKNOWN;
}

int undisturbed_of_phase(struct undisturbed *u, const struct run *run,
	const struct step_times *times, enum step_phase phase)
{
	const struct undisturbed_percentiles unknown = {
		ANALYSIS_UNKNOWN, ANALYSIS_UNKNOWN, ANALYSIS_UNKNOWN};

	*u = (struct undisturbed){
		ANALYSIS_UNKNOWN, ANALYSIS_UNKNOWN, ANALYSIS_UNKNOWN, unknown, unknown, 0};
	if (!all_are_known(run, phase))
		return 0;
	struct lists lists = {.all = calloc(2 * run->step_count + 1, sizeof(*lists.all))};
	if (!lists.all)
		return -ENOMEM;
	lists.alone = lists.all + run->step_count;
	u->count = u->interrupted = u->behind = 0;
	for (size_t i = 0; i < run->step_count; i++)
		if (step_phase_of(&run->steps[i]) == phase && times->steps[i].span_ns &&
			run->steps[i].outcome == RUN_EVALUATED)
			add_step(u, &lists, run, i);
	u->is_drifting = is_drifting(u, lists.all);
	u->cpu = percentiles(lists.all, u->count);
	u->alone = u->is_drifting ? unknown : percentiles(lists.alone, lists.alone_count);
	free(lists.all);
	return 0;
}
