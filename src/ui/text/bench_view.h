/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick bench`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include "ui/text/diff.h"

enum bench_side {
	BENCH_A,
	BENCH_B,
	BENCH_AGAIN, /* A once more: what it differs by is the floor */
	BENCH_SIDES,
};

/* What the machine did while it was measured. */
struct bench_machine {
	unsigned cpus, runs, disturbed;
	double load, frequency_mhz, temperature; /* negative: not known */
	double steal, others;			 /* means, as parts of all CPUs' time */
	int64_t swapped;
};

struct bench_view {
	const char *commands[2];	    /* B: NULL where there is only A */
	const char *batch, *reason, *fault; /* fault: NULL: none */
	bool is_kept;			    /* the history has it */
	const char *measure;		    /* of plain runs: "wall time", "what it printed" */
	bool is_rate;			    /* more is better */
	size_t plain[2], recorded[2];
	double elapsed_s, precision, half_width;
	uint64_t forecast;
	double floor, plain_floor; /* of recorded and of plain runs; 0: not known */
	double threshold;	   /* of plain runs */
	struct bench_machine machine;
	const struct compare_row *plain_row; /* NULL: there is none; one side: a, low, high only */
	const struct diff_view *diff;	     /* NULL: nothing was recorded, or of one side */
	const struct history_run *typical;   /* of one side: the recorded run in the middle */
	enum compare_verdict verdict;
	bool contradicts; /* recorded runs differ, plain ones the other way */
};

void bench_text(const struct bench_view *view, FILE *out);
void bench_json(const struct bench_view *view, FILE *out);
void bench_markdown(const struct bench_view *view, FILE *out);
