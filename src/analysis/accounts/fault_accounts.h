/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page faults by place: the phase of a step, or the time before and between steps, with the
 * innermost brick that was open on the thread. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/steps/step_times.h"
#include "base/array.h"
#include "trace/run.h"

/*
 * In place of an enum step_phase: outside of the process's steps. FAULT_PLACES: the process has no
 * steps.
 */
enum fault_place { FAULT_LOADING = STEP_PHASES, FAULT_BETWEEN, FAULT_PLACES };

/* "prefill", ..., "loading", "between" */
const char *fault_place_name(uint32_t place);

struct fault_row {
	uint32_t place; /* enum step_phase, or enum fault_place */
	uint32_t brick; /* RUN_NONE: in no brick, or on a thread that recorded none */
	uint64_t minor, major;
	uint64_t ns;	    /* until the kernel had served them, added up over threads */
	uint64_t driver_ns; /* part of ns: on threads that ran a step meanwhile */
};

struct fault_rows {
	ARRAY(struct fault_row) list; /* by place, then by ns, most first */
};

/* The step of the fault's process that is open when it begins, its thread's before others'. */
uint32_t fault_step(const struct run *run, const struct run_fault *fault); /* RUN_NONE: none */

/* 0 or -ENOMEM. An empty list: there were none, or they are not known (run->fault_account). */
int fault_rows_measure(struct fault_rows *rows, const struct run *run);
void fault_rows_fini(struct fault_rows *rows);

/* Adds up the rows of a place, or of all for FAULT_PLACES; the result's brick is RUN_NONE. */
struct fault_row fault_rows_sum(const struct fault_rows *rows, uint32_t place);

/*
 * Finds the thread of a process that spent most time in faults before the process's first step, in
 * no brick of a name that begins with `prefix`. Faults in warm-ups count on the threads that run
 * them. The result's place and brick say nothing. 0 or -ENOMEM.
 */
int fault_row_of_loading(
	struct fault_row *row, const struct run *run, uint32_t process, const char *prefix);
