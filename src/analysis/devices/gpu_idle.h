/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a GPU was idle. A gap is a time in which no command of the GPU ran, between two that did;
 * each ns of it has exactly one cause. The command that ends the gap tells the causes:
 *
 *   - until the host began to launch it, the host was late. What the launching thread did then is
 *     the cause; where that thread was in no brick, what the thread did that launched the command
 *     before the gap, or else the thread that runs the step.
 *   - from then on the device had the command and did not begin it: it waited for a command of
 *     another queue or device, a transfer or collective was set up, or the launch took its time.
 *   - between two commands of one launch (a graph's replay) the gap is inside of the replay.
 *   - if its launch is not recorded, the cause is not known.
 *
 * Borrows the run. One thread at a time.
 */
#pragma once

#include "analysis/devices/gpu_spans.h"

/*
 * A new cause needs its name in gpu_idle_names (gpu_idle.c), and its words in
 * src/ui/text/gpu_text.c. Ids are part of the JSON: they stay.
 */
enum gpu_idle_cause {
	/* the host was late: */
	GPU_IDLE_BETWEEN,     /* Python, or whatever the thread does between bricks of a step */
	GPU_IDLE_WORK,	      /* an operator's own work */
	GPU_IDLE_ALLOCATION,  /* calls that allocate or free memory of the device */
	GPU_IDLE_WAIT,	      /* it waited: for the device, a lock, another thread */
	GPU_IDLE_LOADER,      /* the data loader */
	GPU_IDLE_COMPILATION, /* compiling, loading kernels, making graphs */
	GPU_IDLE_LOCK,	      /* blocked while another thread ran Python: the interpreter's lock */
	GPU_IDLE_PREEMPTED,   /* another thread had its CPU */
	/* or not: */
	GPU_IDLE_TRANSFER,   /* a transfer was set up */
	GPU_IDLE_COLLECTIVE, /* a collective was set up, or other ranks were late */
	GPU_IDLE_DEPENDENCY, /* a command of another queue or device had to end */
	GPU_IDLE_LAUNCH,     /* from the call that launched the command to its begin */
	GPU_IDLE_REPLAY,     /* between commands of one launch */
	GPU_IDLE_NOTHING,    /* no step ran, and its threads were in no brick */
	GPU_IDLE_UNKNOWN,    /* the launch is not recorded */
	GPU_IDLE_CAUSES,
	GPU_IDLE_OF_HOST = GPU_IDLE_TRANSFER, /* causes below it: the host was late */
};

/* "between-operators", "launch", ... */
const char *gpu_idle_name(enum gpu_idle_cause cause);

/*
 * Takes a piece of a gap. brick: what the host did, the innermost of its bricks; RUN_NONE: nothing,
 * or it was not the host.
 */
typedef void (*gpu_idle_fn)(void *context, uint64_t begin_ns, uint64_t end_ns,
	enum gpu_idle_cause cause, uint32_t brick);

/*
 * Calls `take` for all gaps of a GPU between gpu->begin_ns and gpu->end_ns, in the order of time.
 * 0 or -ENOMEM.
 */
int gpu_idle_explain(const struct run *run, const struct step_index *index, const struct gpu *gpu,
	gpu_idle_fn take, void *context);
