/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel knows of a process around a step, as counters of the step (step_counters.h). A
 * reading is one system call, and none where a filter may refuse it. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Counts of the whole process since its begin. Engines keep them in static TLS, which is scarce. */
struct step_reading {
	uint64_t bytes, kernel_ns; /* read from disks; CPU time of the kernel */
	uint32_t faults;	   /* may wrap */
	bool is_valid;
};

struct step_reading step_reading_now(void);

/*
 * Records what happened between two readings, if there is something: any bytes from a disk, or 32
 * page faults. False: there was nothing.
 */
bool step_reading_tell(const struct step_reading *before, const struct step_reading *now);

/* Counts of the calling thread since its begin, for a part of loading a model. */
struct load_reading {
	uint64_t bytes, minor, major;
	bool is_valid;
};

struct load_reading load_reading_now(void);

/* Records what happened between two readings of a thread, inside of the brick of that part. */
void load_reading_tell(const struct load_reading *before, const struct load_reading *now);

/* Record a counter, inside of its step. *counter: 1 + its brick, kept by the caller; 0 at first. */
void step_counter_set(uint32_t *counter, const char *name, double value);
