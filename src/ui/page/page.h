/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers behind the page that shows a recording in a browser, and behind the server's metrics:
 * one walk over the samples finds all of them. Also which of the steps the page shows one by one.
 * Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "analysis/accounts/breakdown.h"
#include "analysis/path/schedule.h"
#include "analysis/requests/requests.h"
#include "analysis/roofline/roofline.h"
#include "analysis/scaling/scaling.h"
#include "analysis/walk/step_index.h"
#include "trace/run.h"
#include "ui/page/lane_bins.h"
#include "ui/text/report.h"

enum page_table { PAGE_THREADS, PAGE_KERNELS, PAGE_QUEUES, PAGE_TABLES };

struct page {
	const struct run *run;
	struct step_index index;
	const struct step_times *times; /* the report's */
	struct breakdown *breakdown;
	struct report report;		   /* by brick, of all phases; leads to those of each */
	struct report phases[STEP_PHASES]; /* by brick; its summary is NULL where no step ended */
	struct report tables[PAGE_TABLES]; /* of devices: NULL where there were none */
	/* the same of each phase */
	struct report phase_tables[STEP_PHASES][PAGE_TABLES];
	uint32_t *each; /* the steps whose bricks are in the page, by number in the run */
	size_t each_count;
	struct lane_bins bins;
	struct schedule_source source;
	struct ceilings *ceilings; /* NULL: not measured */
	char *ceilings_path;
	struct roofline *roofline;
	struct scaling *scaling;   /* NULL: no step that decodes has a context that is known */
	struct requests *requests; /* NULL: the run does not say whose its tokens are */
};

/* -ENOMEM. The run must outlive the page. page_fini() is due also after an error. */
int page_measure(struct page *page, const struct run *run);
void page_fini(struct page *page);

/* How many of the report's rows, largest first, the pictures show. */
size_t page_bricks(const struct page *page);

/* True if the step ended and is of that phase. */
bool page_step_is_of(const struct page *page, uint32_t step, enum step_phase phase);

/* The end of a step's time: the next step of its lane begins there, or later. */
uint64_t page_step_end_ns(const struct page *page, uint32_t step);

/* The median step of a phase; RUN_NONE: none ended, or text_error() tells of no memory. */
uint32_t page_median(const struct page *page, enum step_phase phase);

/* The steps worth a tree of their own, and why. */
struct page_choice {
	uint32_t step;
	const char *why;
};
enum { PAGE_CHOICES = 16 };
size_t page_choose(const struct page *page, struct page_choice choices[PAGE_CHOICES]);

/* The steps of which a page without a server holds every sample: the caller frees. NULL: no memory.
 */
uint32_t *page_choose_kept(const struct page *page, size_t *count);
