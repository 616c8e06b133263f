/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of a run, and all their commands in the order of time. A GPU has all queues of a process
 * that its notes say are on it; queues of an unknown GPU share one for each backend. Spans of the
 * host's own (BRICK_HOST_BACKEND) are no GPU's. Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* The kind of a command's work. */
enum gpu_work { GPU_COMPUTE, GPU_TRANSFER, GPU_COLLECTIVE, GPU_WORKS };

/* An outermost execution on a queue. */
struct gpu_span {
	uint64_t begin_ns, end_ns;
	uint32_t lane, brick, site;
	uint32_t command; /* index in run->commands; RUN_NONE: not recorded */
	uint32_t work;	  /* enum gpu_work */
	/*
	 * The first lane of the command's queue. A queue whose commands overlap, if only because
	 * times were rounded, has several lanes.
	 */
	uint32_t queue;
};

struct gpu {
	uint32_t process, number; /* number: of its notes, see run_lane.gpu; 0: not known */
	const char *backend;	  /* the run's; "": not known */
	uint32_t queues;	  /* lanes */
	struct gpu_span *spans;	  /* by begin, then by lane */
	size_t span_count;
	/*
	 * From the begin of the first command to the end of the last command that a step launched;
	 * of all commands if the run has no steps, or none of them launched any. Both 0: no
	 * commands.
	 */
	uint64_t begin_ns, end_ns;
};

struct gpu_spans {
	struct gpu *list; /* in the order of their first lanes */
	size_t count;
	uint32_t *of_lane;    /* [lane_count]: index in list; RUN_NONE: no GPU's */
	struct gpu_span *all; /* those of all GPUs */
};

/* 0 or -ENOMEM; *spans is then empty. */
int gpu_spans_init(struct gpu_spans *spans, const struct run *run, const struct step_index *index);
void gpu_spans_fini(struct gpu_spans *spans);

/* The value of the process's note "gpu.NUMBER.WHAT"; NULL: there is none. Borrowed from the run. */
const char *gpu_note(const struct run *run, const struct gpu *gpu, const char *what);

/* The GPU's name, as its driver or the file tells; NULL: not known. Borrowed from the run. */
const char *gpu_name(const struct run *run, const struct gpu *gpu);
