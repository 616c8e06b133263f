/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that shows a recording in a browser: one HTML document, which needs nothing else, with
 * the numbers in it as JSON, schema brick/page/1 (docs/HTML.md). Its size depends on how many
 * bricks, layers and categories there are, not on how long the run was. `brick report --html`
 * writes it, `brick serve` sends it. Main thread; ends the program when there is no memory.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/accounts/breakdown.h"
#include "analysis/roofline/roofline.h"
#include "analysis/path/schedule.h"
#include "analysis/steps/step_index.h"
#include "ui/page/lane_bins.h"
#include "trace/run.h"
#include "ui/text/report_view.h"

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
	/* the same of each phase */
	struct report phase_tables[STEP_PHASES][PAGE_TABLES];
	uint32_t *each; /* the steps whose bricks are in the page, by number in the run */
	size_t each_count;
	struct lane_bins bins;
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

/* Its parts; each a new reference. `whole`: with all that the page can hold of single steps. */
json_t *page_steps(const struct page *page);		    /* steps over time, by category */
json_t *page_layers(const struct page *page);		    /* layers x bricks */
json_t *page_durations(const struct page *page);	    /* histograms of executions, by brick */
json_t *page_each(const struct page *page);		    /* single steps by brick */
json_t *page_trees(const struct page *page, bool whole);    /* what single steps were made of */
json_t *page_timeline(const struct page *page, bool whole); /* what ran when, by lane */
json_t *page_path(const struct page *page);		    /* critical path; null: not known */
json_t *page_roofline(const struct page *page); /* with ceilings, where they were measured */
json_t *page_tiles(const struct page *page);	/* null: there are none */

/* How many of the rows of the report, largest first, the pictures show. */
size_t page_bricks(const struct page *page);

/* Answers of a server, for what is not in its page; each a new reference. */
json_t *page_step_json(const struct page *page, uint64_t number); /* NULL: no such step */
json_t *page_range_json(const struct page *page, uint64_t since_ns, uint64_t until_ns);

/* The steps worth a tree of their own, and why. */
struct page_choice {
	uint32_t step;
	const char *why;
};
enum { PAGE_CHOICES = 16 };
size_t page_choose(const struct page *page, struct page_choice choices[PAGE_CHOICES]);

/* Steps whose bricks are in the page: all, or, of too many, some all over the run and those that
 * take longest. For page_measure(), before anything is measured. */
void page_choose_each(struct page *page);

/* Steps of which each sample is in a page without a server: the caller frees. */
uint32_t *page_choose_kept(const struct page *page, size_t *count);

/* Names of the phases in the page's JSON; the last is of what is outside of steps. */
extern const char *const page_phase_keys[BREAKDOWN_PHASES];

/* Numbers of the steps of a run, for people; the caller frees. [step_count] */
uint32_t *page_numbers(const struct page *page);

/* Whether a step of that phase has ended. */
bool page_step_is_of(const struct page *page, uint32_t step, enum step_phase phase);

/* Where what belongs to a step ends: where the next one of its lane begins, or earlier. */
uint64_t page_step_end_ns(const struct page *page, uint32_t step);

/* Names, each once, and where in the list each stands. */
struct page_names {
	json_t *list, *numbers;
};
struct page_names page_names_begin(void);
json_int_t page_names_add(struct page_names *names, const char *name);
json_t *page_names_end(struct page_names *names); /* the list, a new reference */
