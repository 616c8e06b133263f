/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `brick bench` share. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "base/array.h"
#include "analysis/history/history_run.h"
#include "record/runner/turn_launch.h"
#include "record/runner/machine_state.h"
#include "record/runner/turns.h"
#include "ui/text/bench_view.h"

struct bench_arguments {
	unsigned long runs, warm_up, seed;
	double time_s, precision, threshold; /* ratios; negative: not said */
	bool plain, recorded, floor, no_history, json, quiet, bisect;
	const char *baseline, *label, *db, *value, *rate, *markdown, *resume, *keep;
	int by;
};

/* A run that has ended. */
struct bench_run {
	enum bench_side side;
	bool is_recorded;
	double value; /* what is compared of a plain run: wall time, or what it printed */
	struct history_run entry;
};

struct bench {
	struct bench_arguments arguments;
	char **commands[BENCH_SIDES]; /* NULL-terminated; NULL: that side is not run */
	ARRAY(struct bench_run) runs;
	struct bench_work {
		enum bench_side side;
		bool is_recorded;
	} work[PLAN_KINDS_MAX];
	size_t work_count;
	struct plan plan;
	char *batch, *directory, *output; /* of what programs print */
	FILE *journal;
	char *journal_path;
	uint64_t begin_ns;
	struct bench_machine machine;
	bool all_kept; /* in the history */
	char *fault;   /* why it ended early; NULL: it did not */
};

/* Make runs until the rule says stop. */
enum stop_reason bench_measure(struct bench *bench);

/* Make one run; false: it failed, and `fault` says why. */
bool bench_launch(struct bench *bench, const struct bench_work *work, struct bench_run *run);

/* Where finished runs go at once. */
void bench_journal_open(struct bench *bench);
bool bench_journal_add(struct bench *bench, const struct bench_run *run);
void bench_journal_close(struct bench *bench, bool keep);

/* What a run is compared by: of a plain one its value, of a recorded one the time of a token. */
double bench_measure_of(const struct bench_run *run);

/* Half the width of the widest interval of what is compared, as a logarithm; -1: not known. */
double bench_half_width(const struct bench *bench);
size_t bench_count(const struct bench *bench, enum bench_side side, bool is_recorded);

/* Compare, print, and say the exit code. */
int bench_answer(struct bench *bench, enum stop_reason reason);

/* Set when SIGINT or SIGTERM came. */
extern volatile int bench_interrupted;
