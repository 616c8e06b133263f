/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of devices, placed on the host's. A device that can be asked for its time is asked between
 * two readings of the host's; of others the time at which they say a command was queued lies
 * between the readings around the call that queued it. A single reading can be poor: the thread
 * that took it may have been off the CPU. So finished commands are held back until two readings
 * bear each other out, or no better one comes (clocks_are_known()). Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <CL/cl.h>

struct clock;

/* The clock of a device; NULL when there is no memory for it. */
struct clock *clocks_of(cl_device_id device);

/* A command was queued at `queued` (of the device) between two times of the host. */
void clocks_queued(struct clock *clock, uint64_t before_ns, uint64_t queued, uint64_t after_ns);

/*
 * May commands be placed? Call it when clocks_queued() has told of all finished commands. False:
 * not yet. is_full: they cannot be held any longer, and must be placed by the readings so far.
 */
bool clocks_are_known(struct clock *clock, bool is_full);

/* No more readings will come, of any clock: the present ones must do from now on. */
void clocks_decide_all(void);

/* Read those that have not been read for a while. */
void clocks_refresh(void);

/* Device time on the host's clock; 0 when nothing is known. residual_ns: how far off it may be. */
uint64_t clocks_host_ns(struct clock *clock, uint64_t device_ns, uint64_t *residual_ns);

/* Keeps the largest error of recorded times, for the note. */
void clocks_placed(struct clock *clock, uint64_t residual_ns);

/* Tell the recording how exact the clocks were. */
void clocks_note(void);

/* The child of a fork starts anew. */
void clocks_forget_all(void);
