/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correlates the clocks of OpenCL devices with the host's. If a device has a timer, it is read
 * between two readings of the host's clock. Otherwise a command's queued time lies between two
 * readings around the call that queued it. A single reading can be poor, as the thread may have
 * been off the CPU. So finished commands are held back until two readings agree, or none better
 * comes (clocks_are_known()). Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <CL/cl.h>

struct clock;

/* The clock of a device; NULL when there is no memory for it. */
struct clock *clocks_of(cl_device_id device);

/* A command was queued at `queued`, device's ns, between two times of the host. */
void clocks_queued(struct clock *clock, uint64_t before_ns, uint64_t queued, uint64_t after_ns);

/*
 * May commands be placed? Call it when clocks_queued() has told of all finished commands. False:
 * not yet. is_full: they cannot be held any longer, and must be placed by the readings so far.
 */
bool clocks_are_known(struct clock *clock, bool is_full);

/* No clock will get further readings: clocks_are_known() is true from now on. */
void clocks_decide_all(void);

/* Read the clocks that are due. */
void clocks_refresh(void);

/* Convert a device's time to the host's; 0: no reading yet. *residual_ns: the greatest error. */
uint64_t clocks_host_ns(struct clock *clock, uint64_t device_ns, uint64_t *residual_ns);

/* Count the error of a recorded time, for the note. */
void clocks_placed(struct clock *clock, uint64_t residual_ns);

/* Tell the recording how exact the clocks were. */
void clocks_note(void);

/* The child of a fork starts anew. */
void clocks_forget_all(void);
