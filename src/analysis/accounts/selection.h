/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrows a run to the selection, before anything is measured, so that everything that measures it
 * counts the same. Samples of other steps or of another time are dropped. Those of other bricks,
 * layers or threads stay, as the time of steps is made of them, but their sites are marked
 * left_out: they are in no row. Statistics of threads and histograms, which do not know when and
 * where things ran, go: numbers of a narrowed run are of its samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

enum selection_speed { SELECT_ANY_SPEED, SELECT_SLOWEST, SELECT_SLOW };

enum { SELECTION_RANGES_MAX = 32, SELECTION_ALL_LAYERS = INT32_MIN };

struct selection {
	int phase; /* an enum step_phase; negative: all */
	/*
	 * among the steps that phase and time leave: the slowest, or the slowest twentieth of each
	 * phase
	 */
	enum selection_speed speed;
	/* numbers from 1, as of the whole recording, first and last included; 0 ranges: all */
	struct selection_range {
		uint64_t first, last;
	} steps[SELECTION_RANGES_MAX];
	unsigned step_ranges;
	int layer;		     /* -1: outside of layers; SELECTION_ALL_LAYERS */
	const char *brick, *thread;  /* a thread or queue by name or number; NULL: all */
	uint64_t since_ns, until_ns; /* from the begin of the recording; UINT64_MAX: to its end */
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
 * 0; or -ENOMEM; or BRICK_ENOTRECORDED: there is nothing like it in the run, and *missing says
 * what, for example "no step 70", which the caller frees. The run is good for destroying only,
 * then.
 */
int selection_apply(const struct selection *selection, struct run *run, char **missing);

/* Take what is left out of a run also from it, but for its steps: for who lists samples. -ENOMEM.
 */
int selection_drop(struct run *run);
