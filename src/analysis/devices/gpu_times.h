/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each GPU of a run spent its time: busy, or idle for a cause. The time of a GPU is that
 * between its first and its last command of steps (struct gpu); of a phase, the part from the
 * begins of the phase's steps to the next begin of a step, so that phases add up. Borrows the run.
 * Read-only once made: any thread.
 */
#pragma once

#include "analysis/devices/gpu_idle.h"
#include "analysis/devices/gpu_spans.h"

struct gpu_time {
	uint64_t commands;	      /* in all of the run */
	uint64_t wall_ns;	      /* busy_ns + idle_ns */
	uint64_t busy_ns;	      /* with at least one command running */
	uint64_t alone_ns[GPU_WORKS]; /* parts of busy_ns: computing; with only transfers and
					 collectives running; with only transfers running: by enum
					 gpu_work */
	uint64_t idle_ns;
	uint64_t idle_of_ns[GPU_IDLE_CAUSES]; /* add up to idle_ns */
	/* by cause: the host's brick with the most of that time; RUN_NONE: none */
	uint32_t most[GPU_IDLE_CAUSES];
	uint64_t most_ns[GPU_IDLE_CAUSES];
	/*
	 * Gaps so long that no launch explains them: the host did something else. Parts of
	 * GPU_IDLE_BETWEEN and GPU_IDLE_WORK.
	 */
	uint64_t gaps, gaps_ns;
	uint32_t gaps_most; /* the host's brick with the most of that time; RUN_NONE: none */
	uint64_t gaps_most_ns;
};

struct gpu_times {
	struct gpu_spans spans;
	struct gpu_time *list; /* [spans.count] */
	/*
	 * Time of a brick's commands, launched by steps of the phase, in which no command of
	 * another brick computed on their GPU: what the others do not hide.
	 */
	uint64_t *exposed_ns; /* [brick_count + 1] */
};

/*
 * phase: an enum step_phase; below 0: all. Of a run without GPUs, or with statistics only,
 * times->spans.count is 0. -ENOMEM; *times is then empty.
 */
int gpu_times_init(
	struct gpu_times *times, const struct run *run, const struct step_index *index, int phase);
void gpu_times_fini(struct gpu_times *times);

/* The part of a GPU's idle time that ended late because of the host: enum gpu_idle_cause. */
uint64_t gpu_idle_of_host_ns(const struct gpu_time *time);
