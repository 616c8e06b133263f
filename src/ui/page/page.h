/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers behind the page that shows a recording in a browser, and behind the server's metrics.
 * One walk over the samples finds all but the requests: a new accumulator joins it in
 * page_measure(), and is destroyed in page_fini(). Chooses also the steps that the page shows one
 * by one. Main thread, or under a lock (src/ui/serve/held.h).
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

/* Tables beside that of bricks. */
enum page_table { PAGE_THREADS, PAGE_KERNELS, PAGE_QUEUES, PAGE_TABLES };

struct page {
	const struct run *run; /* borrowed */
	struct step_index index;
	const struct step_times *times; /* borrowed from `report` */
	struct breakdown *breakdown;	/* time of each step in `each`, by brick */
	struct report report;		/* by brick, all phases; its `apart` leads to `phases` */
	/* by brick; summary NULL: warm-up, or a phase of which no step ended */
	struct report phases[STEP_PHASES];
	/* summary NULL: kernels or queues of a run without device commands */
	struct report tables[PAGE_TABLES];
	/* summary NULL: as in `phases` and `tables` */
	struct report phase_tables[STEP_PHASES][PAGE_TABLES];
	uint32_t *each;		       /* indices of steps whose time by brick the page has */
	size_t each_count;	       /* entries of `each` */
	struct lane_bins bins;	       /* the time line of the whole run */
	struct schedule_source source; /* for the critical path */
	struct ceilings *ceilings;     /* NULL: none are kept for the run's machine */
	char *ceilings_path;	       /* their file */
	struct roofline *roofline;     /* made without ceilings, too */
	struct scaling *scaling;       /* NULL: no decode step has a known context */
	struct requests *requests;     /* NULL: the run does not say whose its tokens are */
};

/*
 * Measures a run, which must outlive the page. -ENOMEM, or another negative code.
 * page_fini() is due also after an error.
 */
int page_measure(struct page *page, const struct run *run);
void page_fini(struct page *page);

/* The number of the report's rows, from the first on, that the pictures show. */
size_t page_bricks(const struct page *page);

/* True if the step was evaluated to its end and is of that phase. */
bool page_step_is_of(const struct page *page, uint32_t step, enum step_phase phase);

/*
 * The end of a step with the time after it, such as sampling; at the latest the begin of the next
 * step on its lane.
 */
uint64_t page_step_end_ns(const struct page *page, uint32_t step);

/* The median step of a phase; RUN_NONE: none ended, or no memory, which text_error() tells. */
uint32_t page_median(const struct page *page, enum step_phase phase);

/* A step that gets a tree of its own. */
struct page_choice {
	uint32_t step;
	const char *why; /* "median decode", a constant */
};
enum { PAGE_CHOICES = 16 };

/* Chooses them, each step once; returns their number. */
size_t page_choose(const struct page *page, struct page_choice choices[PAGE_CHOICES]);

/*
 * The steps of which a page without a server holds every sample, in order; the caller frees. NULL:
 * no memory.
 */
uint32_t *page_choose_kept(const struct page *page, size_t *count);
