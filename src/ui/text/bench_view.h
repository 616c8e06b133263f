/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick bench`, and its forms. Main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "analysis/statistics/statistics.h"
#include "analysis/compare/difference.h"
#include "ui/text/diff.h"

/* The state of the machine during the measurement. */
struct bench_machine {
	unsigned cpus;
	unsigned runs;
	unsigned disturbed; /* runs during which others used the CPUs */
	double load;	    /* negative: not known, here and in the next two */
	double frequency_mhz;
	double temperature;   /* degrees Celsius */
	double steal, others; /* means, as shares of all CPUs' time */
	int64_t swapped;      /* pages */
};

/* Tokens a second of all steps, over recorded runs; NAN: not known. */
struct bench_rate {
	double value, low, high;
};

/* One command with one setting of the parameters. All but counts may be NAN. */
struct bench_side {
	const char *name; /* "A"; with parameters "threads=1 model=a" */
	const char *command;
	size_t plain, recorded;		 /* runs */
	struct statistics_spread spread; /* of the measure of plain runs */
	double user_ns, system_ns;	 /* means of plain runs, else of recorded ones */
	double peak_bytes;		 /* median of the same runs */
	struct bench_rate prefill, decode;
	struct difference against; /* this side (B) against the best (A) */
	bool is_pareto;		   /* no other side is both faster and smaller */
};

struct bench_view {
	const struct bench_side *sides;
	size_t side_count;
	size_t best;	     /* side; side_count: there is one side, or none is known */
	bool is_disturbed;   /* no best is named, because others disturbed most runs */
	bool is_pair;	     /* two sides: B is compared with A */
	const char *pattern; /* the command with its parameters in braces; NULL: it has none */
	const char *batch;   /* names these runs in the history */
	const char *reason;  /* why it stopped: "precise", "settled", "hopeless", ... */
	const char *fault;   /* NULL: none */
	bool is_kept;	     /* the history has the runs */
	const char *measure; /* of plain runs: "wall time", "what it printed" */
	bool is_rate;	     /* more is better */
	bool is_by_tokens;   /* sides are ranked by recorded runs */
	double elapsed_s;
	double precision;   /* the half width that was asked for, a ratio less 1 */
	double half_width;  /* of the widest interval, a logarithm; negative: not known */
	uint64_t forecast;  /* runs of each side that reach it, in all; UINT64_MAX: not known */
	double floor;	    /* how much identical recorded runs differed; 0: not known */
	double plain_floor; /* the same of plain runs */
	double threshold;   /* of a pair: smaller effects do not matter */
	struct bench_machine machine;
	const struct difference *plain;	   /* of one side: a with its bounds; NULL: there is none */
	const struct diff_view *diff;	   /* of a pair; NULL: one of them has no runs */
	const struct history_run *typical; /* of one side: the recorded run in the middle */
};

typedef void (*bench_form_fn)(const struct bench_view *view, FILE *out);

void bench_text(const struct bench_view *view, FILE *out);
void bench_json(const struct bench_view *view, FILE *out); /* schema brick/bench/2 */
void bench_markdown(const struct bench_view *view, FILE *out);

/* A test suite with a case for each side; for a pair also one that fails if B is slower. */
void bench_junit(const struct bench_view *view, FILE *out);

/* A line that GitHub's workflows show beside the change. */
void bench_annotation(const struct bench_view *view, FILE *out);
