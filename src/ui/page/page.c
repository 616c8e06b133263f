/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures all that the page shows in one walk over the samples. Also chooses steps that the page
 * shows one by one. There are three choices: the first, the median, the slowest and the last
 * step of each phase have a tree of all operations; some steps have every sample in the page; and
 * more steps have their time by brick. Constants limit each choice, so that a page stays small
 * however long the run was.
 */
#include "ui/page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brick/error.h"
#include "ui/text/ceilings_view.h"
#include "ui/text/text.h"

enum { ROWS_MAX = 120, LANES_MAX = 120, COLUMNS_MAX = 2000, CELLS_MAX = 60000 };
enum { SLOWEST_DECODES = 4, EACH_CELLS = 500000, EACH_LONGEST = 500, KEPT_SAMPLES = 200000 };

size_t page_bricks(const struct page *page)
{
	size_t count = page->report.summary->row_count;
	return count < ROWS_MAX ? count : ROWS_MAX;
}

/* Marks of steps. MARK_TREE steps are kept before MARK_SPREAD ones, and become MARK_KEPT. */
enum { MARK_SPREAD = 1, MARK_TREE, MARK_KEPT };

static void add_choice(
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

/* The slowest step of a phase that takes less than `below_ns`. */
static uint32_t slowest_below(const struct page *page, enum step_phase phase, uint64_t below_ns)
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

static uint32_t first_or_last_of(const struct page *page, enum step_phase phase, bool last)
{
	uint32_t found = RUN_NONE;
	for (uint32_t i = 0; i < page->run->step_count; i++)
		if (page_step_is_of(page, i, phase) && (found == RUN_NONE || last))
			found = i;
	return found;
}

uint32_t page_median(const struct page *page, enum step_phase phase)
{
	uint32_t step = step_times_median(page->times, page->run, &page->index, phase);
	bool ended = first_or_last_of(page, phase, false) != RUN_NONE;
	text_fail(step == RUN_NONE && ended ? -ENOMEM : 0);
	return step;
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
		[STEP_OTHER] = {"median step", "first step", "slowest step", "slow step",
			"last step"},
	};
	static const enum step_phase order[] = {STEP_DECODE, STEP_MIXED, STEP_PREFILL, STEP_OTHER};
	size_t count = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum step_phase phase = order[i];
		const char *const *word = words[phase];
		uint64_t below_ns = UINT64_MAX;
		add_choice(choices, &count, page_median(page, phase), word[0]);
		add_choice(choices, &count, first_or_last_of(page, phase, false), word[1]);
		for (int k = 0; k < (phase == STEP_DECODE ? SLOWEST_DECODES : 1); k++) {
			uint32_t step = slowest_below(page, phase, below_ns);
			add_choice(choices, &count, step, word[k ? 3 : 2]);
			if (step != RUN_NONE)
				below_ns = step_time_total_ns(&page->times->steps[step]);
		}
		add_choice(choices, &count, first_or_last_of(page, phase, true), word[4]);
	}
	return count;
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

/* The finished steps, the longest first; the caller frees. */
static struct step_length *steps_by_length(const struct page *page, size_t *count)
{
	const struct run *run = page->run;
	struct step_length *steps = calloc(run->step_count + 1, sizeof(*steps));

	*count = 0;
	if (!steps)
		return NULL;
	for (uint32_t i = 0; i < run->step_count; i++)
		if (page->index.finished[i])
			steps[(*count)++] = (struct step_length){
				run->steps[i].end_ns - run->steps[i].begin_ns, i};
	qsort(steps, *count, sizeof(*steps), step_length_compare);
	return steps;
}

/* Marks `wanted` steps: up to `longest` long ones (a quarter at most), the rest spread evenly. */
static int mark_spread(const struct page *page, uint8_t *marked, size_t wanted, size_t longest)
{
	size_t count, seen = 0;
	SCOPED struct step_length *steps = steps_by_length(page, &count);

	if (!steps)
		return -ENOMEM;
	longest = longest < wanted / 4 ? longest : wanted / 4;
	for (size_t i = 0; i < count && i < longest; i++)
		marked[steps[i].step] = MARK_SPREAD;
	size_t rest = wanted - longest, others = count - (longest < count ? longest : count);
	for (size_t i = 0; i < page->run->step_count; i++) {
		if (!page->index.finished[i] || marked[i])
			continue;
		if (seen * rest / others != (seen + 1) * rest / others)
			marked[i] = MARK_SPREAD;
		seen++;
	}
	return 0;
}

static uint32_t *list_marked(const struct page *page, const uint8_t *marked, size_t *count)
{
	uint32_t *list = calloc(page->run->step_count + 1, sizeof(*list));

	*count = 0;
	for (uint32_t i = 0; list && i < page->run->step_count; i++)
		if (marked[i])
			list[(*count)++] = i;
	return list;
}

/* All steps have their time by brick in the page; of too many, the longest and an even spread. */
static int choose_each(struct page *page)
{
	size_t most = EACH_CELLS / (page->run->brick_count + 8);
	SCOPED uint8_t *marked = calloc(page->run->step_count + 1, 1);
	size_t count = page->index.count;

	if (!marked || (count && mark_spread(page, marked, count < most ? count : most,
					 count < most ? 0 : EACH_LONGEST) < 0))
		return -ENOMEM;
	page->each = list_marked(page, marked, &page->each_count);
	return page->each ? 0 : -ENOMEM;
}

/* The number of samples on all lanes of the page from the step's begin to its end. */
static size_t page_samples_of(const struct page *page, uint32_t step)
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

/* Keeps each step with that mark if its samples still fit, and takes the mark off the others. */
static void keep_fitting(const struct page *page, uint8_t *marked, uint8_t mark, size_t *left)
{
	for (uint32_t i = 0; i < page->run->step_count; i++) {
		if (marked[i] != mark)
			continue;
		size_t own = page_samples_of(page, i);
		marked[i] = own <= *left ? MARK_KEPT : 0;
		*left -= own <= *left ? own : 0;
	}
}

/*
 * Chooses as many steps as fit if each has the mean number of samples; steps with a tree come
 * first.
 */
uint32_t *page_choose_kept(const struct page *page, size_t *count)
{
	struct page_choice choices[PAGE_CHOICES];
	SCOPED uint8_t *marked = calloc(page->run->step_count + 1, 1);
	size_t samples = 1, left = KEPT_SAMPLES, steps = page->index.count;

	for (size_t i = 0; i < page->run->lane_count; i++)
		samples += page->run->lanes[i].sample_count;
	size_t wanted = steps ? (size_t)((double)left / ((double)samples / (double)steps)) : 0;
	if (!marked || (steps && mark_spread(page, marked, wanted < steps ? wanted : steps,
					 wanted / 4) < 0))
		return NULL;
	size_t chosen = page_choose(page, choices);
	for (size_t i = 0; i < chosen; i++)
		marked[choices[i].step] = MARK_TREE;
	for (uint8_t turn = MARK_TREE; turn >= MARK_SPREAD; turn--)
		keep_fitting(page, marked, turn, &left);
	return list_marked(page, marked, count);
}

static const enum summary_by table_by[PAGE_TABLES] = {
	[PAGE_THREADS] = SUMMARY_BY_THREAD,
	[PAGE_KERNELS] = SUMMARY_BY_KERNEL,
	[PAGE_QUEUES] = SUMMARY_BY_QUEUE,
};

static int join_table(struct page *page, struct walk *walk, enum page_table table)
{
	struct report *all = &page->tables[table];
	int rc = report_join(all, walk, table_by[table], SUMMARY_ALL_PHASES);

	if (rc == 0)
		summary_take(all->summary, page->report.summary);
	for (int phase = 0; rc == 0 && phase < STEP_PHASES; phase++) {
		struct report *report = &page->phase_tables[phase][table];
		if (!page->phases[phase].summary)
			continue;
		rc = report_join(report, walk, table_by[table], phase);
		if (rc == 0)
			summary_take(report->summary, page->phases[phase].summary);
	}
	return rc;
}

static int join_reports(struct page *page, struct walk *walk)
{
	int rc = report_join(&page->report, walk, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES);

	for (int phase = 0; rc == 0 && phase < STEP_PHASES; phase++) {
		if (phase == STEP_WARM_UP || !step_phase_ended(page->run, &page->index, phase))
			continue;
		rc = report_join(&page->phases[phase], walk, SUMMARY_BY_BRICK, phase);
		if (rc == 0)
			summary_take(page->report.summary, page->phases[phase].summary);
	}
	for (int i = 0; rc == 0 && i < PAGE_TABLES; i++)
		if (i == PAGE_THREADS || page->run->command_count)
			rc = join_table(page, walk, (enum page_table)i);
	return rc;
}

/* Lanes without samples are left out. Threads that run steps come first. */
static int join_bins(struct page *page, struct walk *walk)
{
	const struct run *run = page->run;
	SCOPED uint32_t *lanes = calloc(run->lane_count + 1, sizeof(*lanes));
	size_t count = 0;
	uint64_t end_ns = run->end_ns > run->start_ns ? run->end_ns : run->start_ns + 1;

	for (int drives = 1; lanes && drives >= 0; drives--)
		for (uint32_t i = 0; i < run->lane_count && count < LANES_MAX; i++)
			if (run->lanes[i].sample_count &&
				step_index_drives(&page->index, i) == drives)
				lanes[count++] = i;
	size_t columns = count ? CELLS_MAX / count : COLUMNS_MAX;
	if (!lanes || lane_bins_init(&page->bins, run, &page->index, lanes, count, run->start_ns,
			      end_ns, columns < COLUMNS_MAX ? columns : COLUMNS_MAX) < 0)
		return -ENOMEM;
	walk_join(walk, &lane_bins_ops, &page->bins);
	return 0;
}

static void complete_reports(struct page *page)
{
	report_complete(&page->report);
	page->report.roofline = page->ceilings ? page->roofline : NULL;
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (page->phases[phase].summary) {
			report_complete(&page->phases[phase]);
			page->phases[phase].roofline = page->ceilings ? page->roofline : NULL;
			page->report.apart[phase] = &page->phases[phase];
			page->report.is_apart = true;
		}
	for (int i = 0; i < PAGE_TABLES; i++) {
		if (page->tables[i].summary)
			report_complete(&page->tables[i]);
		for (int phase = 0; phase < STEP_PHASES; phase++)
			if (page->phase_tables[phase][i].summary)
				report_complete(&page->phase_tables[phase][i]);
	}
	page->times = &page->report.summary->steps;
}

static int join_scaling(struct page *page, struct walk *walk)
{
	int rc = scaling_create_in(&page->scaling, walk);

	if (rc != BRICK_ENOTRECORDED)
		return rc;
	scaling_destroy(page->scaling);
	page->scaling = NULL;
	return 0;
}

int page_measure(struct page *page, const struct run *run)
{
	struct walk walk;

	memset(page, 0, sizeof(*page));
	page->run = run;
	page->ceilings = ceilings_kept(run->host, run->cpu, &page->ceilings_path);
	int rc = step_index_init(&page->index, run);
	walk_init(&walk, run, &page->index);
	if (rc < 0 || (rc = join_reports(page, &walk)) < 0 || (rc = join_bins(page, &walk)) < 0 ||
		(rc = choose_each(page)) < 0 ||
		(rc = breakdown_create_in(&page->breakdown, &walk)) < 0 ||
		(rc = breakdown_parts(page->breakdown, page->each, page->each_count)) < 0 ||
		(rc = roofline_create_in(&page->roofline, &walk, page->ceilings)) < 0 ||
		(rc = schedule_source_init(&page->source, &walk)) < 0 ||
		(rc = join_scaling(page, &walk)) < 0 || (rc = walk_run(&walk)) < 0)
		return rc;
	complete_reports(page);
	rc = requests_create(&page->requests, run);
	return rc == BRICK_ENOTRECORDED ? 0 : rc;
}

void page_fini(struct page *page)
{
	summary_destroy(page->report.summary);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		summary_destroy(page->phases[phase].summary);
	for (int i = 0; i < PAGE_TABLES; i++) {
		summary_destroy(page->tables[i].summary);
		for (int phase = 0; phase < STEP_PHASES; phase++)
			summary_destroy(page->phase_tables[phase][i].summary);
	}
	lane_bins_fini(&page->bins);
	free(page->each);
	breakdown_destroy(page->breakdown);
	schedule_source_fini(&page->source);
	roofline_destroy(page->roofline);
	ceilings_destroy(page->ceilings);
	free(page->ceilings_path);
	scaling_destroy(page->scaling);
	requests_destroy(page->requests);
	step_index_fini(&page->index);
}
