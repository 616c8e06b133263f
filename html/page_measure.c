/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers behind the page and the server's metrics, all from one walk over the samples. Called
 * by page.c and `brick serve`.
 */
#include <stdlib.h>
#include <string.h>

#include "html/page.h"
#include "view/ceilings.h"
#include "view/die.h"
#include "view/exit_code.h"

static const enum summary_by table_by[PAGE_TABLES] = {
	[PAGE_THREADS] = SUMMARY_BY_THREAD,
	[PAGE_KERNELS] = SUMMARY_BY_KERNEL,
	[PAGE_QUEUES] = SUMMARY_BY_QUEUE,
};

static int ended(const struct page *page, enum step_phase phase)
{
	for (size_t i = 0; i < page->run->step_count; i++)
		if (page->index.finished[i] && step_phase_of(&page->run->steps[i]) == phase)
			return 1;
	return 0;
}

static void join_reports(struct page *page, struct walk *walk)
{
	report_join(&page->report, walk, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (phase != STEP_WARM_UP && ended(page, phase)) {
			report_join(&page->phases[phase], walk, SUMMARY_BY_BRICK, phase);
			summary_take(page->report.summary, page->phases[phase].summary);
		}
	for (int i = 0; i < PAGE_TABLES; i++)
		if (i == PAGE_THREADS || page->run->command_count) {
			report_join(&page->tables[i], walk, table_by[i], SUMMARY_ALL_PHASES);
			summary_take(page->tables[i].summary, page->report.summary);
		}
}

static void complete_reports(struct page *page)
{
	report_complete(&page->report);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (page->phases[phase].summary) {
			report_complete(&page->phases[phase]);
			page->phases[phase].roofline = page->ceilings ? page->roofline : NULL;
		}
	for (int i = 0; i < PAGE_TABLES; i++)
		if (page->tables[i].summary)
			report_complete(&page->tables[i]);
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
	if (rc == 0)
		join_reports(page, &walk);
	if (rc < 0 || breakdown_create_in(&page->breakdown, &walk) < 0 ||
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
	for (int i = 0; i < PAGE_TABLES; i++)
		summary_destroy(page->tables[i].summary);
	breakdown_destroy(page->breakdown);
	schedule_source_fini(&page->source);
	roofline_destroy(page->roofline);
	ceilings_destroy(page->ceilings);
	free(page->ceilings_path);
	step_index_fini(&page->index);
}
