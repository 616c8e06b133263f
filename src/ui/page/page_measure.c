/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers behind the page and the server's metrics, all from one walk over the samples. Called
 * by page.c and `brick serve`.
 */
#include <stdlib.h>
#include <string.h>

#include "ui/page/page.h"
#include "ui/text/ceilings_view.h"
#include "ui/text/die.h"
#include "ui/text/exit_code.h"
#include "ui/text/memory.h"

enum { LANES_MAX = 120, COLUMNS_MAX = 2000, CELLS_MAX = 60000 };

static const enum summary_by table_by[PAGE_TABLES] = {
	[PAGE_THREADS] = SUMMARY_BY_THREAD,
	[PAGE_KERNELS] = SUMMARY_BY_KERNEL,
	[PAGE_QUEUES] = SUMMARY_BY_QUEUE,
};

static void join_tables(struct page *page, struct walk *walk, enum page_table table)
{
	report_join(&page->tables[table], walk, table_by[table], SUMMARY_ALL_PHASES);
	summary_take(page->tables[table].summary, page->report.summary);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (page->phases[phase].summary) {
			struct report *report = &page->phase_tables[phase][table];
			report_join(report, walk, table_by[table], phase);
			summary_take(report->summary, page->phases[phase].summary);
		}
}

static void join_reports(struct page *page, struct walk *walk)
{
	report_join(&page->report, walk, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (phase != STEP_WARM_UP && step_phase_ended(page->run, &page->index, phase)) {
			report_join(&page->phases[phase], walk, SUMMARY_BY_BRICK, phase);
			summary_take(page->report.summary, page->phases[phase].summary);
		}
	for (int i = 0; i < PAGE_TABLES; i++)
		if (i == PAGE_THREADS || page->run->command_count)
			join_tables(page, walk, (enum page_table)i);
}

/* Threads and queues with samples, those that run steps first. */
static void join_bins(struct page *page, struct walk *walk)
{
	const struct run *run = page->run;
	SCOPED uint32_t *lanes = xcalloc(run->lane_count + 1, sizeof(*lanes));
	size_t count = 0;
	uint64_t end_ns = run->end_ns > run->start_ns ? run->end_ns : run->start_ns + 1;

	for (int drives = 1; drives >= 0; drives--)
		for (uint32_t i = 0; i < run->lane_count && count < LANES_MAX; i++)
			if (run->lanes[i].sample_count &&
				step_index_drives(&page->index, i) == drives)
				lanes[count++] = i;
	size_t columns = count ? CELLS_MAX / count : COLUMNS_MAX;
	if (lane_bins_init(&page->bins, run, &page->index, lanes, count, run->start_ns, end_ns,
		    columns < COLUMNS_MAX ? columns : COLUMNS_MAX) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its time line", run->path);
	walk_join(walk, &lane_bins_ops, &page->bins);
}

static void complete_reports(struct page *page)
{
	report_complete(&page->report);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (page->phases[phase].summary) {
			report_complete(&page->phases[phase]);
			page->phases[phase].roofline = page->ceilings ? page->roofline : NULL;
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

void page_measure(struct page *page, const struct run *run)
{
	struct walk walk;
	memset(page, 0, sizeof(*page));
	page->run = run;
	page->ceilings = ceilings_kept(run->host, run->cpu, &page->ceilings_path);
	int rc = step_index_init(&page->index, run);
	walk_init(&walk, run, &page->index);
	if (rc == 0) {
		join_reports(page, &walk);
		join_bins(page, &walk);
		page_choose_each(page);
	}
	if (rc < 0 || breakdown_create_in(&page->breakdown, &walk) < 0 ||
		breakdown_parts(page->breakdown, page->each, page->each_count) < 0 ||
		roofline_create_in(&page->roofline, &walk, page->ceilings) < 0 ||
		schedule_source_init(&page->source, &walk) < 0 || walk_run(&walk) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its numbers", run->path);
	complete_reports(page);
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
	step_index_fini(&page->index);
}
