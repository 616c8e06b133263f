/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that shows a recording in a browser: one HTML document, which needs nothing else, with
 * the numbers in it as JSON, schema brick/page/1 (docs/HTML.md). Its size depends on how many
 * bricks, layers and categories there are, not on how long the run was. `brick report --html`
 * writes it, `brick serve` sends it. Main thread; ends the program when there is no memory.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/breakdown.h"
#include "analysis/roofline.h"
#include "analysis/schedule.h"
#include "analysis/step_index.h"
#include "trace/run.h"
#include "view/report.h"

enum page_table { PAGE_THREADS, PAGE_KERNELS, PAGE_QUEUES, PAGE_TABLES };

/* What the parts of the page, and the server's metrics, are made from: one walk finds all of it. */
struct page {
	const struct run *run;
	struct step_index index;
	const struct step_times *times; /* the report's */
	struct breakdown *breakdown;
	struct report report;		   /* by brick, of all phases */
	struct report phases[STEP_PHASES]; /* by brick; its summary is NULL where no step ended */
	struct report tables[PAGE_TABLES]; /* of devices: NULL where there were none */
	struct schedule_source source;
	struct ceilings *ceilings; /* NULL: not measured */
	char *ceilings_path;
	struct roofline *roofline;
};

/* Ends the program when there is no memory. The run must outlive the page. */
void page_measure(struct page *page, const struct run *run);
void page_fini(struct page *page);

/* Whether this build has the page; without it only the JSON can be made. */
int page_available(void);

/* The sentence that says why not, and what to do about it. */
const char *page_missing(void);

/* Where the page will be read; a served one asks for new numbers now and then. */
enum page_use {
	PAGE_FILE,
	PAGE_SERVED,
	PAGE_LIVE, /* served, and the recording is still being written */
};

/* All numbers of the page. A new reference. */
json_t *page_json(const struct page *page, enum page_use use);
json_t *page_json_of_run(const struct run *run, enum page_use use);

/*
 * JSON as text that is safe inside of a script element: ASCII, and no '<', '>' or '&' in it. The
 * caller frees.
 */
char *page_text(const json_t *data, size_t *bytes);

/* The document around such a text: before it and behind it. */
void page_template(const char **head, size_t *head_bytes, const char **tail, size_t *tail_bytes);

/* Write the document. Takes the reference. */
void page_write(json_t *data, FILE *out);

/* Its parts; each a new reference. */
json_t *page_steps(const struct page *page);	 /* steps over time, by category */
json_t *page_layers(const struct page *page);	 /* layers x bricks */
json_t *page_durations(const struct page *page); /* histograms of executions, by brick */
json_t *page_trees(const struct page *page);	 /* what a few of the steps were made of */
json_t *page_path(const struct page *page);	 /* critical path; null: not known */
json_t *page_roofline(const struct page *page);	 /* with ceilings, where they were measured */
json_t *page_tiles(const struct page *page);	 /* null: there are none */

/* How many of the rows of the report, largest first, the pictures show. */
size_t page_bricks(const struct page *page);

/* The steps worth a tree of their own, and why. */
struct page_choice {
	uint32_t step;
	const char *why;
};
enum { PAGE_CHOICES = 16 };
size_t page_choose(const struct page *page, struct page_choice choices[PAGE_CHOICES]);
