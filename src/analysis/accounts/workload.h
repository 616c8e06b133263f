/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's workload, as far as its recording says: model, settings, threads, and the time that the
 * program took until its first step. Texts and numbers come from the notes "llama.model" and
 * "llama.context", which the attached library writes, or from "model" and "context" of a program
 * that embeds libbrick. Pure; any thread.
 */
#pragma once

#include <stdint.h>
#include "trace/run.h"

enum { WORKLOAD_TEXT = 128 };

/* A number is 0 and a text "" if it is not known. */
struct workload {
	char model[WORKLOAD_TEXT]; /* its name */
	char type[WORKLOAD_TEXT];  /* "llama 7B Q4_K - Medium" */
	uint64_t layers, parameters, bytes;
	uint64_t models;  /* different ones, of which the first is described */
	uint64_t context; /* tokens */
	uint64_t batch, ubatch, sequences;
	uint64_t threads, batch_threads; /* that compute: tokens one by one, and batches */
	/*
	 * From the begin of the recorded command to that of its first step that is no warm-up;
	 * ANALYSIS_UNKNOWN: there is none, or the recording began later than the program.
	 */
	uint64_t start_up_ns;
};

void workload_of_run(struct workload *workload, const struct run *run);
