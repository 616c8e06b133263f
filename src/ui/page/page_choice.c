/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which single steps the page shows: those with a tree, operations and all: the first and the
 * median one of each phase, and the slowest; those of which each sample is kept; and those whose
 * time by brick is. Called by the parts of the page.
 */
#include <stdlib.h>

#include "ui/page/page.h"
#include "ui/text/memory.h"

enum { SLOWEST = 4, EACH_CELLS = 500000, EACH_SLOWEST = 500, KEPT_SAMPLES = 200000 };

/* Of a step, while some are chosen. */
enum { SOME = 1, TREE, KEPT };

static void choose(
	struct page_choice choices[PAGE_CHOICES], size_t *count, uint32_t step, const char *why)
{
	if (step == RUN_NONE || *count == PAGE_CHOICES)
		return;
	for (size_t i = 0; i < *count; i++)
		if (choices[i].step == step)
			return;
	choices[(*count)++] = (struct page_choice){step, why};
}

bool page_step_is_of(const struct page *page, uint32_t step, enum step_phase phase)
{
	return step_index_is_evaluated(&page->index, page->run, step) &&
	       step_phase_of(&page->run->steps[step]) == phase;
}

/* The slowest one that takes less than `below_ns`. */
static uint32_t slowest(const struct page *page, enum step_phase phase, uint64_t below_ns)
{
	uint32_t found = RUN_NONE;
	uint64_t found_ns = 0;
	for (uint32_t i = 0; i < page->run->step_count; i++) {
		uint64_t ns = step_time_total_ns(&page->times->steps[i]);
		if (!page_step_is_of(page, i, phase) || ns >= below_ns ||
			(found != RUN_NONE && ns <= found_ns))
			continue;
		found = i;
		found_ns = ns;
	}
	return found;
}

static uint32_t first_of(const struct page *page, enum step_phase phase, int last)
{
	uint32_t found = RUN_NONE;
	for (uint32_t i = 0; i < page->run->step_count; i++)
		if (page_step_is_of(page, i, phase) && (found == RUN_NONE || last))
			found = i;
	return found;
}

size_t page_choose(const struct page *page, struct page_choice choices[PAGE_CHOICES])
{
	static const char *const words[STEP_PHASES][5] = {
		[STEP_PREFILL] = {"median prefill", "first prefill", "slowest prefill",
			"slow prefill", "last prefill"},
		[STEP_DECODE] = {"median decode", "first decode", "slowest decode", "slow decode",
			"last decode"},
		[STEP_MIXED] = {"median mixed", "first mixed", "slowest mixed", "slow mixed",
			"last mixed"},
	};
	static const enum step_phase order[] = {STEP_DECODE, STEP_MIXED, STEP_PREFILL};
	size_t count = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum step_phase phase = order[i];
		const char *const *word = words[phase];
		uint64_t below_ns = UINT64_MAX;
		choose(choices, &count,
			step_times_median(page->times, page->run, &page->index, phase), word[0]);
		choose(choices, &count, first_of(page, phase, 0), word[1]);
		for (int k = 0; k < (phase == STEP_DECODE ? SLOWEST : 1); k++) {
			uint32_t step = slowest(page, phase, below_ns);
			choose(choices, &count, step, word[k ? 3 : 2]);
			if (step != RUN_NONE)
				below_ns = step_time_total_ns(&page->times->steps[step]);
		}
		choose(choices, &count, first_of(page, phase, 1), word[4]);
	}
	return count;
}

uint32_t *page_numbers(const struct page *page)
{
	const struct run *run = page->run;
	uint32_t *numbers = xcalloc(run->step_count + 1, sizeof(*numbers)), number = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		number = run->steps[i].number ? run->steps[i].number
					      : number + page->index.finished[i];
		numbers[i] = number;
	}
	return numbers;
}

uint64_t page_step_end_ns(const struct page *page, uint32_t step)
{
	const struct run_step *steps = page->run->steps;
	uint64_t end_ns = steps[step].begin_ns + step_time_total_ns(&page->times->steps[step]);

	for (uint32_t i = step + 1; i < page->run->step_count; i++)
		if (page->index.finished[i] && steps[i].lane == steps[step].lane)
			return steps[i].begin_ns < end_ns ? steps[i].begin_ns : end_ns;
	return end_ns;
}

/* The finished ones, the longest first; the caller frees. */
static struct step_length *by_length(const struct page *page, size_t *count)
{
	const struct run *run = page->run;
	struct step_length *steps = xcalloc(run->step_count + 1, sizeof(*steps));

	*count = 0;
	for (uint32_t i = 0; i < run->step_count; i++)
		if (page->index.finished[i])
			steps[(*count)++] = (struct step_length){
				run->steps[i].end_ns - run->steps[i].begin_ns, i};
	qsort(steps, *count, sizeof(*steps), step_length_compare);
	return steps;
}

/* Mark so many of all: the longest, at most a quarter, and the rest at equal distances. */
static void mark_some(const struct page *page, uint8_t *marked, size_t wanted, size_t longest)
{
	size_t count, seen = 0;
	SCOPED struct step_length *steps = by_length(page, &count);

	longest = longest < wanted / 4 ? longest : wanted / 4;
	for (size_t i = 0; i < count && i < longest; i++)
		marked[steps[i].step] = SOME;
	size_t rest = wanted - longest, others = count - (longest < count ? longest : count);
	for (size_t i = 0; i < page->run->step_count; i++) {
		if (!page->index.finished[i] || marked[i])
			continue;
		if (seen * rest / others != (seen + 1) * rest / others)
			marked[i] = SOME;
		seen++;
	}
}

static uint32_t *list_marked(const struct page *page, const uint8_t *marked, size_t *count)
{
	uint32_t *list = xcalloc(page->run->step_count + 1, sizeof(*list));

	*count = 0;
	for (uint32_t i = 0; i < page->run->step_count; i++)
		if (marked[i])
			list[(*count)++] = i;
	return list;
}

void page_choose_each(struct page *page)
{
	size_t most = EACH_CELLS / (page->run->brick_count + 8);
	SCOPED uint8_t *marked = xcalloc(page->run->step_count + 1, 1);

	if (page->index.count)
		mark_some(page, marked, page->index.count < most ? page->index.count : most,
			page->index.count < most ? 0 : EACH_SLOWEST);
	page->each = list_marked(page, marked, &page->each_count);
}

/* On all lanes while it ran. */
static size_t samples_of(const struct page *page, uint32_t step)
{
	uint64_t begin_ns = page->run->steps[step].begin_ns;
	uint64_t end_ns = page_step_end_ns(page, step);
	size_t samples = 0;

	for (size_t i = 0; i < page->bins.lane_total; i++) {
		const struct run_lane *lane = &page->run->lanes[page->bins.lanes[i]];
		samples += run_sample_from(lane, end_ns) - run_sample_from(lane, begin_ns);
	}
	return samples;
}

/* Of those marked so, the ones that fit. */
static void keep_those(const struct page *page, uint8_t *marked, uint8_t mark, size_t *left)
{
	for (uint32_t i = 0; i < page->run->step_count; i++) {
		if (marked[i] != mark)
			continue;
		size_t own = samples_of(page, i);
		marked[i] = own <= *left ? KEPT : 0;
		*left -= own <= *left ? own : 0;
	}
}

/* So many as fit, by their mean size; those with a tree of their own before others. */
uint32_t *page_choose_kept(const struct page *page, size_t *count)
{
	struct page_choice choices[PAGE_CHOICES];
	SCOPED uint8_t *marked = xcalloc(page->run->step_count + 1, 1);
	size_t samples = 1, left = KEPT_SAMPLES, steps = page->index.count;

	for (size_t i = 0; i < page->run->lane_count; i++)
		samples += page->run->lanes[i].sample_count;
	size_t wanted = steps ? (size_t)((double)left / ((double)samples / (double)steps)) : 0;
	if (steps)
		mark_some(page, marked, wanted < steps ? wanted : steps, wanted / 4);
	size_t chosen = page_choose(page, choices);
	for (size_t i = 0; i < chosen; i++)
		marked[choices[i].step] = TREE;
	for (uint8_t turn = TREE; turn >= SOME; turn--)
		keep_those(page, marked, turn, &left);
	return list_marked(page, marked, count);
}
