/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the steps of a run into its lanes and processes. A step whose lane or sample does not exist
 * is left out, so that users of the index need no checks.
 */
#include "analysis/walk/step_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/members.h"
#include "base/order.h"
#include "brick/abi/overhead.h"

static const struct run_sample *step_index_sample_of(
	const struct run *run, const struct run_step *step)
{
	if (step->lane >= run->lane_count)
		return NULL;
	const struct run_lane *lane = &run->lanes[step->lane];
	if (step->sample >= lane->sample_count || lane->process >= run->process_count)
		return NULL;
	return &lane->samples[step->sample];
}

static void prefix_sums(uint32_t *first, size_t n)
{
	uint32_t sum = 0;
	for (size_t i = 0; i <= n; i++) {
		uint32_t here = first[i];
		first[i] = sum;
		sum += here;
	}
}

/* Keeps the outermost of a lane's steps, which are sorted by sample; returns their number. */
static uint32_t keep_outermost(const struct run *run, uint32_t *steps, uint32_t n)
{
	uint32_t kept = 0;
	uint64_t end_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct run_step *step = &run->steps[steps[i]];
		if (kept && step->begin_ns < end_ns)
			continue;
		steps[kept++] = steps[i];
		end_ns = step->end_ns;
	}
	return kept;
}

static int compare_samples(const void *a, const void *b, void *run)
{
	const struct run_step *steps = ((const struct run *)run)->steps;
	return ORDER(steps[*(const uint32_t *)a].sample, steps[*(const uint32_t *)b].sample);
}

/* Steps that end sooner are passed over along their own `outer`. */
static void find_outer(struct step_index *index, const struct run *run)
{
	for (size_t process = 0; process < run->process_count; process++) {
		uint32_t first = index->process_first[process];
		for (uint32_t i = first; i < index->process_first[process + 1]; i++) {
			uint64_t end_ns = run->steps[index->by_process[i]].end_ns;
			uint32_t before = i > first ? i - 1 : RUN_NONE;
			while (before != RUN_NONE &&
				run->steps[index->by_process[before]].end_ns <= end_ns)
				before = index->outer[before];
			index->outer[i] = before;
		}
	}
}

/* Place in [low, high) of a list of steps, sorted by begin: the first that begins after `ns`. */
static uint32_t begun(
	const struct run *run, const uint32_t *list, uint32_t low, uint32_t high, uint64_t ns)
{
	return (uint32_t)BISECT(i, low, high, run->steps[list[i]].begin_ns <= ns);
}

/* Place in by_process of the last step that has begun at `ns`; RUN_NONE: none. */
static uint32_t step_index_last_begun(
	const struct step_index *index, const struct run *run, uint32_t process, uint64_t ns)
{
	uint32_t first = index->process_first[process];
	uint32_t end = begun(run, index->by_process, first, index->process_first[process + 1], ns);

	return end > first ? end - 1 : RUN_NONE;
}

uint32_t step_index_at(
	const struct step_index *index, const struct run *run, uint32_t lane, uint64_t ns)
{
	uint32_t first = index->lane_first[lane];
	uint32_t end = begun(run, index->by_lane, first, index->lane_first[lane + 1], ns);

	if (end > first && index->finished[index->by_lane[end - 1]] &&
		ns < run->steps[index->by_lane[end - 1]].end_ns)
		return index->by_lane[end - 1];
	return step_index_open(
		index, run, step_index_last_begun(index, run, run->lanes[lane].process, ns), ns);
}

uint32_t step_index_of_command(
	const struct step_index *index, const struct run *run, const struct run_command *c)
{
	uint64_t ns = c->launch_ns ? c->launch_ns : run_command_sample(run, c)->begin_ns;

	return step_index_at(index, run, c->launch_lane != RUN_NONE ? c->launch_lane : c->lane, ns);
}

/* True if a lane is a thread of the step's process that recorded during the step. */
static bool step_index_records_in(const struct run *run, uint32_t lane, const struct run_step *step)
{
	const struct run_lane *l = &run->lanes[lane];
	if (l->process != run->lanes[step->lane].process || l->kind != BRICK_LANE_THREAD)
		return false;
	size_t first = run_sample_from(l, step->begin_ns);
	bool begins = first < l->sample_count && l->samples[first].begin_ns < step->end_ns;
	bool goes_on = first && l->samples[first - 1].end_ns > step->begin_ns;
	return begins || goes_on;
}

uint32_t step_index_threads_beside(const struct run *run, const struct run_step *step)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < run->lane_count; i++)
		n += i != step->lane && step_index_records_in(run, i, step);
	return n;
}

uint32_t step_index_ended(
	const struct step_index *index, const struct run *run, uint32_t lane, uint64_t ns)
{
	const uint32_t *list = index->by_lane, *first = index->lane_first;

	return (uint32_t)BISECT(i, first[lane], first[lane + 1], run->steps[list[i]].end_ns <= ns);
}

uint64_t step_index_overlap(const struct step_index *index, const struct run *run, uint32_t process,
	uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t before = step_index_last_begun(index, run, process, begin_ns);
	uint32_t next = before == RUN_NONE ? index->process_first[process] : before + 1;
	uint64_t at_ns = begin_ns, ns = 0;

	/* steps that have begun: the one that ends last covers the begin of the time */
	for (uint32_t i = before; i != RUN_NONE; i = index->outer[i])
		if (run->steps[index->by_process[i]].end_ns > at_ns)
			at_ns = run->steps[index->by_process[i]].end_ns;
	ns = (at_ns < end_ns ? at_ns : end_ns) - begin_ns;
	for (; next < index->process_first[process + 1] && at_ns < end_ns; next++) {
		const struct run_step *step = &run->steps[index->by_process[next]];
		uint64_t from_ns = step->begin_ns > at_ns ? step->begin_ns : at_ns;
		uint64_t to_ns = step->end_ns < end_ns ? step->end_ns : end_ns;
		if (from_ns >= end_ns)
			break;
		if (to_ns > from_ns)
			ns += to_ns - from_ns;
		if (step->end_ns > at_ns)
			at_ns = step->end_ns;
	}
	return ns;
}

/*
 * Measures a step's tail. limit_ns: the lane's next step, which ends it at the latest. A brick of
 * the thread that goes on at the end of device work is in the tail, unless it reaches beyond the
 * limit.
 */
static void measure_tail(
	const struct step_index *index, const struct run *run, uint32_t number, uint64_t limit_ns)
{
	const struct run_step *step = &run->steps[number];
	const struct run_lane *lane = &run->lanes[step->lane];
	const struct run_sample *own = &lane->samples[step->sample];
	struct step_tail *tail = &index->tails[number];

	if (tail->device_ns <= step->end_ns || limit_ns <= step->end_ns)
		return;
	uint64_t at_ns = step->end_ns + own->wait_ns;
	tail->end_ns = tail->device_ns < limit_ns ? tail->device_ns : limit_ns;
	if (at_ns > tail->end_ns)
		tail->end_ns = at_ns < limit_ns ? at_ns : limit_ns;
	for (size_t i = step->sample + 1; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		uint64_t end_ns = s->end_ns + s->wait_ns;
		if (s->begin_ns >= tail->end_ns)
			break;
		if (s->depth > own->depth ||
			index->kinds[run->sites[s->site].brick] == BRICK_KIND_TILE)
			continue;
		tail->gap_ns += s->begin_ns > at_ns ? s->begin_ns - at_ns : 0;
		if (end_ns > limit_ns || (s->flags & RUN_SAMPLE_OPEN)) {
			tail->end_ns = at_ns = s->begin_ns > at_ns ? s->begin_ns : at_ns;
			break;
		}
		at_ns = end_ns > at_ns ? end_ns : at_ns;
		tail->end_ns = at_ns > tail->end_ns ? at_ns : tail->end_ns;
	}
	tail->gap_ns += tail->end_ns > at_ns ? tail->end_ns - at_ns : 0;
}

static void find_tails(struct step_index *index, const struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++)
		index->tails[i].end_ns = run->steps[i].end_ns;
	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		uint64_t end_ns = run_command_sample(run, c)->end_ns;
		uint32_t step = step_index_of_command(index, run, c);
		if (step != RUN_NONE && end_ns > index->tails[step].device_ns)
			index->tails[step].device_ns = end_ns;
		run_lane_passed(&run->lanes[c->lane], c->sample);
	}
	for (size_t lane = 0; lane < run->lane_count; lane++)
		for (uint32_t i = index->lane_first[lane]; i < index->lane_first[lane + 1]; i++)
			if (index->finished[index->by_lane[i]])
				measure_tail(index, run, index->by_lane[i],
					i + 1 < index->lane_first[lane + 1]
						? run->steps[index->by_lane[i + 1]].begin_ns
						: UINT64_MAX);
}

static void classify_bricks(struct step_index *index, const struct run *run)
{
	const char *wait = brick_category_name(BRICK_CATEGORY_WAIT);
	const char *step = brick_category_name(BRICK_CATEGORY_STEP);
	const char *tile = brick_category_name(BRICK_CATEGORY_TILE);
	for (size_t i = 0; i < run->brick_count; i++) {
		const char *name = run->categories[run->bricks[i].category].name;
		if (!strcmp(name, wait))
			index->kinds[i] = BRICK_KIND_WAIT;
		else if (!strcmp(name, step) || brick_is_step((uint32_t)run->bricks[i].well_known))
			index->kinds[i] = BRICK_KIND_STEP;
		else if (!strcmp(name, tile))
			index->kinds[i] = BRICK_KIND_TILE;
		else if (!strcmp(run->bricks[i].name, BRICK_LOOKUP_NAME) ||
			 !strcmp(run->bricks[i].name, BRICK_READY_NAME) ||
			 !strcmp(run->bricks[i].name, BRICK_SPLIT_NAME))
			index->kinds[i] = BRICK_KIND_OVERHEAD;
	}
}

/* Finds phases in which all times off the CPU are known. */
static void find_off_known(struct step_index *index, const struct run *run)
{
	uint32_t known = 0, unknown = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		uint32_t bit = UINT32_C(1) << (step->phase & STEP_INDEX_ALL);
		if (run_off_cpu_is_known(run, step->begin_ns, index->tails[i].end_ns))
			known |= bit;
		else
			unknown |= bit;
	}
	index->off_known = known & ~unknown;
	if (run_off_cpu_is_known(run, 0, UINT64_MAX))
		index->off_known |= UINT32_C(1) << STEP_INDEX_ALL;
}

int step_index_init(struct step_index *index, const struct run *run)
{
	memset(index, 0, sizeof(*index));
	size_t most = run->lane_count > run->process_count ? run->lane_count : run->process_count;
	SCOPED uint32_t *cursor = calloc(most + 1, sizeof(*cursor));
	index->by_lane = calloc(run->step_count + 1, sizeof(uint32_t));
	index->lane_first = calloc(run->lane_count + 1, sizeof(uint32_t));
	index->by_process = calloc(run->step_count + 1, sizeof(uint32_t));
	index->process_first = calloc(run->process_count + 1, sizeof(uint32_t));
	index->outer = calloc(run->step_count + 1, sizeof(uint32_t));
	index->tails = calloc(run->step_count + 1, sizeof(*index->tails));
	index->finished = calloc(run->step_count + 1, 1);
	index->kinds = calloc(run->brick_count + 1, 1);
	if (!cursor || !index->kinds || !index->tails || !index->outer || !index->by_lane ||
		!index->lane_first || !index->by_process || !index->process_first ||
		!index->finished || owners_init(&index->owners, run)) {
		step_index_fini(index);
		return -ENOMEM;
	}
	classify_bricks(index, run);
	for (size_t i = 0; i < run->step_count; i++)
		if (step_index_sample_of(run, &run->steps[i]))
			index->lane_first[run->steps[i].lane]++;
	prefix_sums(index->lane_first, run->lane_count);
	memcpy(cursor, index->lane_first, run->lane_count * sizeof(*cursor));
	for (size_t i = 0; i < run->step_count; i++)
		if (step_index_sample_of(run, &run->steps[i]))
			index->by_lane[cursor[run->steps[i].lane]++] = (uint32_t)i;
	uint32_t out = 0;
	for (size_t lane = 0; lane < run->lane_count; lane++) {
		uint32_t first = index->lane_first[lane];
		uint32_t n = index->lane_first[lane + 1] - first;
		qsort_r(index->by_lane + first, n, sizeof(uint32_t), compare_samples, (void *)run);
		n = keep_outermost(run, index->by_lane + first, n);
		memmove(index->by_lane + out, index->by_lane + first, n * sizeof(uint32_t));
		index->lane_first[lane] = out;
		out += n;
	}
	index->lane_first[run->lane_count] = out;
	for (uint32_t i = 0; i < out; i++) {
		const struct run_step *step = &run->steps[index->by_lane[i]];
		if (!step->open) {
			index->finished[index->by_lane[i]] = 1;
			index->count++;
		}
	}
	for (size_t i = 0; i < run->step_count; i++)
		if (index->finished[i])
			index->process_first[run->lanes[run->steps[i].lane].process]++;
	prefix_sums(index->process_first, run->process_count);
	memcpy(cursor, index->process_first, run->process_count * sizeof(*cursor));
	for (size_t i = 0; i < run->step_count; i++)
		if (index->finished[i])
			index->by_process[cursor[run->lanes[run->steps[i].lane].process]++] =
				(uint32_t)i;
	find_outer(index, run);
	find_tails(index, run);
	find_off_known(index, run);
	return 0;
}

void step_index_fini(struct step_index *index)
{
	members_free(index, by_lane, lane_first, by_process, process_first, outer, tails, finished,
		kinds);
	owners_fini(&index->owners);
	memset(index, 0, sizeof(*index));
}

uint32_t step_number(const struct run *run, const struct step_index *index, uint32_t step)
{
	uint32_t number = 0;

	while (!run->steps[step].number) {
		number += index->finished[step];
		if (!step--)
			return number;
	}
	return number + run->steps[step].number;
}

uint32_t *step_number_list(const struct run *run, const struct step_index *index)
{
	uint32_t *numbers = calloc(run->step_count + 1, sizeof(*numbers)), number = 0;

	for (size_t i = 0; numbers && i < run->step_count; i++) {
		number = run->steps[i].number ? run->steps[i].number : number + index->finished[i];
		numbers[i] = number;
	}
	return numbers;
}

uint32_t step_numbers(const struct run *run, const struct step_index *index)
{
	return run->all_steps ? run->all_steps : index->count;
}
