/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI takes from the program cannot be seen in the program's own calls: it happens around
 * Brick's callbacks, and where no call of Brick's is. So at the first command of a process Brick
 * launches a kernel without work some hundred times, with and without CUPTI's records and
 * callbacks, and the note "cuda.calibration" has the differences, and decides if graphs are
 * recorded lightly (cuda_replays.h). This takes a few ms, on the thread that launches, in its
 * context, in a stream of Brick's own. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

/* The kernel's name: its records are nobody's. */
#define CUDA_CALIBRATION_KERNEL "brick_calibration"

/* A cost, between its lowest and its highest credible value. */
struct calibrated {
	int64_t ns, low_ns, high_ns;
};

/* Calls `part` on the differences of two lists of times, which it sorts. Each has a time at least.
 */
struct calibrated calibrated_difference(
	uint64_t *with, uint32_t with_count, uint64_t *without, uint32_t without_count);

/* A driver's call that launches kernels. */
struct calibration_call {
	const char *name;
	uint32_t id;
};

/*
 * Calibrate by calls that the program does not make, on a thread that is about to launch its
 * process's first command. Callbacks of the thread meanwhile are Brick's own. Writes the note.
 */
void cuda_calibrate(struct calibration_call call);
