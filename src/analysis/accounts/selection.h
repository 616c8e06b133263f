/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrows a run to a selection, before anything is measured, so that all measures count the same.
 * Samples of other steps or of another time are dropped. Samples of other bricks, layers or threads
 * stay, because the time of steps is made of them, but their sites are marked left_out: they are in
 * no row. Statistics of threads and histograms do not know when and where things ran, so they are
 * dropped: all numbers of a narrowed run come from its samples. One thread at a time for each run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

enum selection_speed {
	SELECT_ANY_SPEED,
	SELECT_SLOWEST, /* the slowest step, of decode if there is any */
	SELECT_SLOW,	/* the slowest twentieth of each phase, at least one step */
};

enum { SELECTION_RANGES_MAX = 32, SELECTION_ALL_LAYERS = INT32_MIN };

struct selection {
	int phase;		    /* an enum step_phase; negative: all */
	enum selection_speed speed; /* chosen among the steps that phase and time leave */
	/* step_number() of first and last step, both included; step_ranges is 0: all steps */
	struct selection_range {
		uint64_t first, last;
	} steps[SELECTION_RANGES_MAX];
	unsigned step_ranges;
	int layer;		     /* a number; -1: outside of layers; SELECTION_ALL_LAYERS */
	const char *brick;	     /* by name; NULL: all */
	const char *thread;	     /* a thread or queue by name or number; NULL: all */
	uint64_t since_ns, until_ns; /* since the recording began; until UINT64_MAX: to its end */
};

#define SELECTION_INIT                                                             \
	{                                                                          \
		.phase = -1, .layer = SELECTION_ALL_LAYERS, .until_ns = UINT64_MAX \
	}

/* True if it selects less than all. */
bool selection_is_any(const struct selection *selection);

/* True if it selects only some steps or some time. */
bool selection_has_steps(const struct selection *selection);

/*
 * Narrows the run. -ENOMEM; BRICK_ENOTRECORDED: the run has nothing like the selection, and
 * *missing is the reason, for example "no step 70", which the caller frees. After an error the run
 * can only be destroyed.
 */
int selection_apply(const struct selection *selection, struct run *run, char **missing);

/* Drops left-out samples from a narrowed run, but not its steps: for lists of samples. -ENOMEM. */
int selection_drop(struct run *run);
