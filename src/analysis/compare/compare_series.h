/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in a comparison. Of a recording: the time of each step, the part of each brick (or layer)
 * in it, and the time of the device kernels that it launched. The times are of the thread that ran
 * the step, and counted as in the report, so the parts of a step and the unattributed rest add up
 * to the step. A series borrows nothing from the run, because recordings are read one after the
 * other. One thread at a time.
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
	COMPARE_UNATTRIBUTED, /* the part of the step's time in none of them */
	COMPARE_OFF_CPU,      /* the part of the step's time off the CPU, in bricks or in none */
	COMPARE_KERNEL,	      /* a device's time, beside the step's */
};

/* The names in all recordings of a comparison; columns are numbered by them. */
struct compare_names {
	struct compare_name {
		char *name;
		char *category; /* of a brick; NULL: of none */
		enum compare_kind kind;
	} * list;
	size_t count, capacity;
	struct hash_index index;
	uint32_t steps_a_cell[STEP_PHASES]; /* as the first recording needs it; 0: not yet known */
};

/* The work, whatever it took; 0: not known. Bytes and FLOPs come from shapes. */
struct compare_work {
	double count, bytes, flops;
};

struct compare_series {
	size_t columns; /* names known when this was read; it has no later ones */
	struct compare_cells {
		uint64_t steps;
		size_t count;	      /* cells, in the order of time */
		uint64_t *total_ns;   /* [count] */
		uint64_t *between_ns; /* [count]: of the program, before these; NULL: not known */
		uint64_t *tokens;     /* [count] */
		uint64_t *column_ns;  /* [count][columns] */
		struct compare_work *work; /* [columns]: of all steps, a token */
		/*
		 * Time with at least one of the steps running, as a part of the sum of their times:
		 * steps of several contexts overlap.
		 */
		double united;
	} phases[STEP_PHASES];
	uint64_t ttft_ns; /* ANALYSIS_UNKNOWN */
	uint64_t wall_ns; /* of the whole run; 0: not known */
	bool is_plain;	  /* run without recording: it has no steps */
	double printed;	  /* the number that a plain run printed; 0: none */
	bool is_rate;	  /* of that number more is better */
	bool knows_off; /* bricks and layers count time on the CPU, and waits; the rest is a column
			 */
};

/* The column of a name. Adds it if it is new; RUN_NONE: no memory. */
uint32_t compare_names_column(
	struct compare_names *names, const char *name, enum compare_kind kind);
/* States a brick's category; the first one stays. -ENOMEM. */
int compare_names_categorize(struct compare_names *names, uint32_t column, const char *category);

/* The category of a brick's name: that of the registry, or "Other". */
const char *compare_category_of(const char *brick);
void compare_names_fini(struct compare_names *names);

/* by: SUMMARY_BY_BRICK, _CATEGORY or _LAYER, the same for all recordings. -ENOMEM. */
int compare_series_init(struct compare_series *series, struct compare_names *names,
	const struct run *run, enum summary_by by);
void compare_series_fini(struct compare_series *series);

static inline uint64_t compare_cell_ns(
	const struct compare_series *series, int phase, size_t cell, size_t column)
{
	const struct compare_cells *cells = &series->phases[phase];

	return column < series->columns ? cells->column_ns[cell * series->columns + column] : 0;
}
