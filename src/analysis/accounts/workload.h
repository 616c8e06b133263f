/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a run's workload from its notes: model, settings, threads, and the time that the program
 * took until its first step. The attached library writes the notes "llama.model" and
 * "llama.context", and a program that embeds libbrick "model" and "context". Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

enum { WORKLOAD_TEXT = 128 };

/* Numbers that are not known are 0, and texts "". */
struct workload {
	char model[WORKLOAD_TEXT];	    /* its name */
	char type[WORKLOAD_TEXT];	    /* "llama 7B Q4_K - Medium" */
	uint64_t layers, parameters, bytes; /* of the model */
	uint64_t models;		    /* different models; the first is described */
	uint64_t context;		    /* tokens */
	uint64_t batch, ubatch, sequences;  /* tokens of a batch, of a part of it; sequences */
	uint64_t threads;		    /* that compute tokens one by one */
	uint64_t batch_threads;		    /* that compute batches */
	/*
	 * From the begin of the recorded command to the begin of its first step that is no warm-up;
	 * ANALYSIS_UNKNOWN: no such step, or the recording began later than the program.
	 */
	uint64_t start_up_ns;
};

/* False: it may have had steps before this one, which are left out. */
bool workload_has_begin(const struct run *run, const struct run_step *first);
void workload_of_run(struct workload *workload, const struct run *run);
