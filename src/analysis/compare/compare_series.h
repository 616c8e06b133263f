/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a series of a run, for comparisons: of a recording the time of each step, the part of each
 * brick (or layer) in it, and the time of the device kernels that it launched. Times are of the
 * thread that ran the step, and are counted as in the report: the columns of a step but for kernels
 * add up to the step. A series borrows nothing from the run, because recordings are read one after
 * the other. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/steps/step_times.h"
#include "analysis/accounts/summary.h"
#include "base/hash_index.h"

/* With more steps of a phase than this, neighbours share a cell. */
enum { COMPARE_CELLS = 16384 };

enum compare_kind {
	COMPARE_PART,	      /* a brick or a layer: a part of the step's time */
	COMPARE_UNATTRIBUTED, /* the part of the step's time in no brick or layer */
	COMPARE_OFF_CPU,      /* the part of the step's time off the CPU, in bricks or in none */
	COMPARE_KERNEL,	      /* a device's time, beside the step's */
};

/* The names in all recordings of a comparison. A name's place in `list` is its column. */
struct compare_names {
	struct compare_name {
		char *name;
		char *category; /* of a brick; NULL: of none */
		enum compare_kind kind;
	} * list;
	size_t count, capacity;
	struct hash_index index;
	/* by phase: steps in each cell, as the first recording needs them; 0: not known yet */
	uint32_t steps_a_cell[STEP_PHASES];
};

/* Work per token; 0: not known. count: executions. Bytes and FLOPs come from shapes. */
struct compare_work {
	double count, bytes, flops;
};

struct compare_series {
	size_t columns; /* names that were known when the run was read; it has no later ones */
	struct compare_cells {
		uint64_t steps;	      /* evaluated steps in all cells */
		size_t count;	      /* cells, in the order of time */
		uint64_t *total_ns;   /* [count]: time of the cell's steps */
		uint64_t *between_ns; /* [count]: of the program, before them; NULL: not known */
		uint64_t *tokens;     /* [count]: evaluated, with drafts */
		uint64_t *column_ns;  /* [count][columns]: parts of total_ns, and kernels */
		struct compare_work *work; /* [columns]: means over all steps */
		/*
		 * Tokens of all cells / (their total_ns * united) is the rate: the factor counts
		 * overlapping steps of several contexts once, and takes drafts out of tokens.
		 */
		double united;
	} phases[STEP_PHASES];
	uint64_t ttft_ns;  /* time to the first token; ANALYSIS_UNKNOWN */
	uint64_t wall_ns;  /* of the whole run; 0: not known */
	bool is_plain;	   /* run without recording: it has no steps */
	double printed;	   /* the number that a plain run printed; 0: none */
	bool is_rate;	   /* of `printed`, more is better */
	bool is_disturbed; /* others used the CPUs meanwhile */
	bool knows_off;	   /* columns of parts have no time off the CPU: COMPARE_OFF_CPU has it */
};

/* The column of a name. Adds it if it is new; RUN_NONE: no memory. */
uint32_t compare_names_column(
	struct compare_names *names, const char *name, enum compare_kind kind);
/* Sets a column's category, unless it has one. -ENOMEM. */
int compare_names_categorize(struct compare_names *names, uint32_t column, const char *category);

/* The category that the registry has for a brick's name, or "Other". */
const char *compare_category_of(const char *brick);
void compare_names_fini(struct compare_names *names);

/*
 * Reads a run, and adds its names to `names`. by: SUMMARY_BY_BRICK, _CATEGORY or _LAYER, the same
 * for all runs of a comparison. -ENOMEM; *series is then empty.
 */
int compare_series_init(struct compare_series *series, struct compare_names *names,
	const struct run *run, enum summary_by by);
void compare_series_fini(struct compare_series *series);

/* ns of a column in a cell; 0 for columns that the series does not have. */
static inline uint64_t compare_cell_ns(
	const struct compare_series *series, int phase, size_t cell, size_t column)
{
	const struct compare_cells *cells = &series->phases[phase];

	return column < series->columns ? cells->column_ns[cell * series->columns + column] : 0;
}
