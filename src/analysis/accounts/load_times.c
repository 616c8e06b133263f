/* SPDX-License-Identifier: Apache-2.0 */
/* A phase inside of another one is no part of the outer one's time. */
#include "analysis/accounts/load_times.h"

#include <errno.h>
#include <string.h>

#include "analysis/accounts/workload.h"
#include "base/array.h"
#include "base/number.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/abi/step_counters.h"

const char *load_phase_name(enum load_phase phase)
{
	static const char *const names[LOAD_PHASES] = {"open", "map", "read", "lock", "warm_up"};

	return names[phase];
}

/* The phase of each brick; LOAD_PHASES: none. */
static enum load_phase load_phase_of(const struct run *run, const struct run_sample *sample)
{
	static const char *const bricks[] = {"ModelOpen", "ModelMap", "ModelRead", "ModelLock"};
	const struct run_brick *brick = &run->bricks[run->sites[sample->site].brick];

	if (brick->well_known == BRICK_WARM_UP)
		return LOAD_WARM_UP;
	for (int phase = 0; phase < LOAD_WARM_UP; phase++)
		if (!strcmp(brick->name, bricks[phase]))
			return (enum load_phase)phase;
	return LOAD_PHASES;
}

/* A part of loading on a lane; inside of another one, whose phase is `outer`, unless it is none. */
struct load_span {
	uint64_t begin_ns, end_ns;
	enum load_phase phase, outer;
};

struct load_spans {
	ARRAY(struct load_span) list; /* by begin */
};

static void load_spans_fini(struct load_spans *spans)
{
	array_fini(&spans->list);
}

static int load_times_of_lane(struct load_times *times, struct load_spans *spans,
	const struct run *run, const struct run_lane *lane, uint64_t end_ns)
{
	enum { DEEPEST = 8 };
	struct load_span open[DEEPEST];
	size_t depth = 0;

	for (size_t i = 0; i < lane->sample_count && lane->samples[i].begin_ns < end_ns; i++) {
		const struct run_sample *s = &lane->samples[i];
		enum load_phase phase = load_phase_of(run, s);
		run_lane_passed(lane, i);
		while (depth && open[depth - 1].end_ns <= s->begin_ns)
			depth--;
		if (phase == LOAD_PHASES || depth == DEEPEST || s->end_ns > end_ns)
			continue;
		times->ns[phase] += s->end_ns - s->begin_ns;
		if (depth)
			times->ns[open[depth - 1].phase] -= s->end_ns - s->begin_ns;
		open[depth] = (struct load_span){
			s->begin_ns, s->end_ns, phase, depth ? open[depth - 1].phase : LOAD_PHASES};
		if (array_push(&spans->list, open[depth]))
			return -ENOMEM;
		depth++;
		times->is_known |= phase != LOAD_WARM_UP;
	}
	return 0;
}

/*
 * The counts of a part, told at its end, are without those of the parts inside of it: none is left
 * if the outer one's were lost.
 */
static void load_counts_of_lane(struct load_times *times, const struct load_spans *spans,
	const struct run *run, uint32_t lane)
{
	static const struct {
		const char *name;
		size_t member;
	} counters[] = {{BRICK_LOAD_MINOR_NAME, offsetof(struct load_counts, minor)},
		{BRICK_LOAD_MAJOR_NAME, offsetof(struct load_counts, major)},
		{BRICK_LOAD_DISK_NAME, offsetof(struct load_counts, bytes)}};
	const struct load_span *list = spans->list.items;
	double sums[LOAD_PHASES][3] = {0};

	for (size_t i = 0; i < run->point_count && spans->list.count; i++) {
		const struct run_point *p = &run->points[i];
		size_t k = 0, at;
		if (p->lane != lane || p->kind != RUN_POINT_COUNTER || !(p->value > 0))
			continue;
		while (k < 3 && strcmp(run->bricks[p->brick].name, counters[k].name) != 0)
			k++;
		at = k == 3 ? 0 : BISECT(s, 0, spans->list.count, list[s].begin_ns <= p->ns);
		while (at && list[at - 1].end_ns < p->ns)
			at--;
		if (!at)
			continue;
		const struct load_span *span = &list[at - 1];
		sums[span->phase][k] += p->value;
		if (span->outer != LOAD_PHASES)
			sums[span->outer][k] -= p->value;
	}
	for (int phase = 0; phase < LOAD_PHASES; phase++)
		for (int k = 0; k < 3; k++)
			*(uint64_t *)((char *)&times->counts[phase] + counters[k].member) +=
				number_of_double(sums[phase][k]);
}

static void load_counters(
	struct load_times *times, const struct run *run, uint32_t process, uint64_t end_ns)
{
	const struct {
		const char *name;
		uint64_t *sum;
	} counters[] = {{BRICK_DISK_NAME, &times->disk_bytes}, {BRICK_FAULTS_NAME, &times->faults},
		{BRICK_KERNEL_TIME_NAME, &times->kernel_ns}};

	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		for (int k = 0; k < 3; k++)
			if (p->kind == RUN_POINT_COUNTER && p->ns <= end_ns &&
				run->lanes[p->lane].process == process &&
				!strcmp(run->bricks[p->brick].name, counters[k].name) &&
				p->value > 0)
				*counters[k].sum += number_of_double(p->value);
	}
}

int load_times_of_run(struct load_times *times, const struct run *run)
{
	const struct run_step *first = NULL;

	*times = (struct load_times){0};
	for (size_t i = 0; i < run->step_count && !first; i++)
		if (run->steps[i].phase != BRICK_PHASE_WARM_UP)
			first = &run->steps[i];
	if (!first || !workload_has_begin(run, first))
		return 0;
	for (uint32_t i = 0; i < run->lane_count; i++) {
		SCOPED_BY(load_spans_fini) struct load_spans spans = {0};
		if (run->lanes[i].process != run->lanes[first->lane].process)
			continue;
		if (load_times_of_lane(times, &spans, run, &run->lanes[i], first->begin_ns))
			return -ENOMEM;
		load_counts_of_lane(times, &spans, run, i);
	}
	load_counters(times, run, run->lanes[first->lane].process, first->end_ns);
	return 0;
}
