/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that `brick top` shows at a moment: a run (a recording, or the sessions of a live
 * process), and its analysis. The report by bricks is made at once, other parts when a view first
 * asks; a new part also goes into picture_forget(). Numbers are made as those of `brick report`.
 * Owns its run. One thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/accounts/heatmap.h"
#include "analysis/path/path.h"
#include "analysis/requests/requests.h"
#include "analysis/roofline/roofline.h"
#include "ui/text/report.h"

/*
 * Steps of a phase. Counts are exact, from the statistics of the threads; a run without statistics,
 * or a part of a run, has the counts of its samples.
 */
struct picture_steps {
	uint64_t count;
	uint64_t tokens;
	uint64_t total_ns; /* without the time after the steps */
	double after;	   /* time after the steps, such as sampling, as a share of total_ns */
	uint64_t after_ns; /* typical time after one step */
	double at_once;	   /* steps that ran at the same time, on average; 0: not known */
};

struct picture {
	struct run *run;
	bool live;	   /* samples are those of the last moments, statistics of all the run */
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	uint64_t ttft_ns;  /* of a live run; ANALYSIS_UNKNOWN: not known */
	int phase;	   /* enum step_phase, or SUMMARY_ALL_PHASES */
	struct step_index index;
	struct report report; /* by brick */
	/* Made by the functions below. They may be NULL though they were made (`*_made`). */
	struct report threads; /* summary NULL: not made */
	struct report kernels; /* summary NULL: not made */
	struct heatmap *heat;
	struct call_tree *tree;
	uint32_t tree_step; /* RUN_NONE: the tree is of a thread */
	struct path *path;
	struct roofline *roofline; /* made at once; NULL: no ceilings are kept for the machine */
	struct requests *requests; /* of all phases */
	bool tree_made, path_made, requests_made;
	int path_error; /* of path_create() */
	struct picture_steps exact[STEP_PHASES];
	uint64_t executions; /* of all bricks; exact as in struct picture_steps */
};

/*
 * Takes the run, also on failure. phase: an enum step_phase, or SUMMARY_ALL_PHASES. ttft_ns counts
 * for live pictures only. NULL: not enough memory.
 */
struct picture *picture_create(struct run *run, int phase, bool live, uint64_t ttft_ns);
void picture_destroy(struct picture *picture);

/*
 * Percentile 50 or 99 of the steps' times, in ns. A live picture that has lost older steps takes it
 * from the threads' histogram and adds after_ns. ANALYSIS_UNKNOWN: not known.
 */
uint64_t picture_step_percentile(const struct picture *picture, int phase, unsigned percent);

/* Computes all for another phase. -ENOMEM: the picture can only be destroyed. */
int picture_phase_set(struct picture *picture, int phase);

/* Never NULL; empty without memory. Valid until the phase changes, as are all parts. */
const struct summary *picture_threads(struct picture *picture);
const struct summary *picture_kernels(struct picture *picture);
const struct heatmap *picture_heat(struct picture *picture);

/*
 * Tree of the phase's last whole step, or of the busiest thread of a run without steps; NULL: there
 * is nothing to show.
 */
const struct call_tree *picture_tree(struct picture *picture);

/* NULL: no step says whose its tokens are, or the run is a part of a recording. */
const struct requests *picture_requests(struct picture *picture);

/* The phase's critical path; for all phases that of decode, or of the first phase. NULL: see *why.
 */
const struct path_section *picture_path(struct picture *picture, const char **why);

/* The rate as in a report, which counts the time after steps, too; negative: not known. */
double picture_tokens_per_s(const struct picture_steps *steps);
