/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that `brick top` shows at a moment: a run (a recording, or the sessions of a live
 * process), and its analysis, computed when a view asks first. All numbers on the screen come from
 * here, and are made as those of `brick report`. Owns its run. One thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/accounts/heatmap.h"
#include "analysis/path/path.h"
#include "analysis/requests/requests.h"
#include "analysis/roofline/roofline.h"
#include "ui/text/report.h"

/* Exact counts of the steps of a phase, from the statistics of the threads. */
struct picture_steps {
	uint64_t count, tokens, total_ns;
	/* the time after them, such as sampling, as a part of theirs; only samples tell */
	double after;
	uint64_t after_ns; /* that of the median step; where there are no samples, of the mean */
	double at_once;	   /* steps that ran at the same time, on average; 0: not known */
};

struct picture {
	struct run *run;
	bool live;	   /* samples are those of the last moments, statistics of all the run */
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	uint64_t ttft_ns;  /* ANALYSIS_UNKNOWN */
	int phase;	   /* enum step_phase, or SUMMARY_ALL_PHASES */
	struct step_index index;
	struct report report;  /* by brick */
	struct report threads; /* by thread; made when asked for, as are the following */
	struct report kernels;
	struct heatmap *heat;
	struct call_tree *tree;
	uint32_t tree_step; /* RUN_NONE: of a thread */
	struct path *path;
	struct roofline *roofline;
	struct requests *requests; /* of all phases */
	bool tree_made, path_made, requests_made;
	int path_error; /* of path_create() */
	struct picture_steps exact[STEP_PHASES];
	uint64_t executions; /* exact, of all bricks */
};

/* Takes the run. ttft_ns counts for live pictures only. NULL: not enough memory. */
struct picture *picture_create(struct run *run, int phase, bool live, uint64_t ttft_ns);
void picture_destroy(struct picture *picture);

/*
 * The p50 or p99 of all steps of a phase. Live, and if older ones are not in it any more, by the
 * histogram of the threads, with the time after a typical step. ANALYSIS_UNKNOWN.
 */
uint64_t picture_step_percentile(const struct picture *picture, int phase, unsigned percent);

/* Look at another phase: all is computed anew. -ENOMEM: the picture can only be destroyed. */
int picture_phase_set(struct picture *picture, int phase);

const struct summary *picture_threads(struct picture *picture);
const struct summary *picture_kernels(struct picture *picture);
const struct heatmap *picture_heat(struct picture *picture);

/* Tree of the last whole step of the phase; NULL: there is nothing to show. */
const struct call_tree *picture_tree(struct picture *picture);

/* NULL: no step says whose its tokens are, or the run is a part of a recording. */
const struct requests *picture_requests(struct picture *picture);

/* NULL: there is none; *why says why not. */
const struct path_section *picture_path(struct picture *picture, const char **why);

/* The rate as in a report: sampling and the like after the steps count; negative: not known. */
double picture_tokens_per_s(const struct picture_steps *steps);
