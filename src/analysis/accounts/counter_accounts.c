/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the step of each counter's point, and adds the value to the step's phase. */
#include "analysis/accounts/counter_accounts.h"
#include "base/members.h"

#include <string.h>

const char *counters_kind_name(uint32_t kind)
{
	return kind == COUNTERS_READING ? "counter-reading" : brick_counters_name(kind);
}

static uint32_t counter_accounts_kind_of(const struct run *run, const struct run_point *point)
{
	uint32_t kind = 0;

	if (point->kind != RUN_POINT_COUNTER || point->brick >= run->brick_count)
		return COUNTERS_KINDS;
	while (kind < COUNTERS_KINDS &&
		strcmp(counters_kind_name(kind), run->bricks[point->brick].name))
		kind++;
	return kind;
}

const struct run_step *counters_step_of(
	const struct run *run, const struct step_index *index, const struct run_point *point)
{
	uint32_t first = index->lane_first[point->lane], end = index->lane_first[point->lane + 1];
	uint32_t next = step_index_ended(index, run, point->lane, point->ns);

	if (next == first || (next < end && run->steps[index->by_lane[next]].begin_ns < point->ns))
		return NULL;
	return &run->steps[index->by_lane[next - 1]];
}

void counters_measure(struct counters *c, const struct run *run, const struct step_index *index)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *point = &run->points[i];
		uint32_t kind = counter_accounts_kind_of(run, point);
		const struct run_step *step = NULL;
		if (kind < COUNTERS_KINDS && point->lane < run->lane_count && point->value >= 0)
			step = counters_step_of(run, index, point);
		if (!step)
			continue;
		struct counters_sum *sum = &c->phases[step->phase][kind];
		if (!sum->steps || point->value < sum->least)
			sum->least = point->value;
		if (!sum->steps || point->value > sum->most)
			sum->most = point->value;
		sum->sum += point->value;
		sum->steps++;
		if (kind == BRICK_COUNTER_TASK_CLOCK)
			c->span_ns[step->phase] += step->end_ns - step->begin_ns;
	}
}

int counters_any(const struct counters *c)
{
	for (int phase = 0; phase < STEP_PHASES; phase++)
		for (int kind = 0; kind < COUNTERS_KINDS; kind++)
			if (c->phases[phase][kind].steps)
				return 1;
	return 0;
}

double counters_mean(const struct counters *c, enum step_phase phase, uint32_t kind)
{
	const struct counters_sum *sum = &c->phases[phase][kind];

	return sum->steps ? sum->sum / (double)sum->steps : -1;
}

double counters_ipc(const struct counters *c, enum step_phase phase)
{
	const struct counters_sum *cycles = &c->phases[phase][BRICK_COUNTER_CYCLES];
	const struct counters_sum *instructions = &c->phases[phase][BRICK_COUNTER_INSTRUCTIONS];

	if (!cycles->steps || cycles->steps != instructions->steps || !(cycles->sum > 0))
		return -1;
	return instructions->sum / cycles->sum;
}

struct counters_brick counters_of_brick(const struct run *run, uint32_t brick)
{
	struct counters_brick sum = {0};

	for (size_t i = 0; i < run->lane_count && brick < run->brick_count; i++) {
		const struct run_stat *stat =
			run->lanes[i].stats ? &run->lanes[i].stats[brick] : NULL;
		if (!stat || !stat->counted)
			continue;
		if (!sum.counted || stat->cycles_min < sum.cycles_min)
			sum.cycles_min = stat->cycles_min;
		if (stat->cycles_max > sum.cycles_max)
			sum.cycles_max = stat->cycles_max;
		members_add(&sum, stat, counted, cycles, instructions, cache_misses);
	}
	return sum;
}
