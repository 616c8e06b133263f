/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy of a run by counter and phase. Counters are read every 50 ms or so: the energy between two
 * readings is taken to be spread evenly. Where steps of two phases lie between the same readings,
 * the phases share that energy, and bounds say how large the error of that can be. Pure; any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include "base/array.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

/* The energy of one phase. Negative: not known, as no step of it lies between two readings. */
struct energy_of_phase {
	double joules;
	double low, high; /* if no shared energy were the phase's; if all of it were */
	double per_step, per_token;
};

struct energy_row {
	uint32_t source; /* index in run->energy_sources */
	uint64_t readings;
	uint64_t period_ns; /* between two, on average */
	double joules; /* from the first to the last; negative: only a part of the run is here */
	uint64_t until_ns; /* of the last */
	bool is_known;	   /* joules are, in all or of a phase */
	struct energy_of_phase phases[STEP_PHASES];
};

struct energy_rows {
	ARRAY(struct energy_row) list; /* in the order of run->energy_sources */
};

/* Returns 0 or -ENOMEM. An empty list: no energy is known. */
int energy_rows_measure(
	struct energy_rows *rows, const struct run *run, const struct step_times *times);
void energy_rows_fini(struct energy_rows *rows);
