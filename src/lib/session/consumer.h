/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who consumes the process's own session inside of the process, as a table that the session is
 * given when it starts (src/lib/embed/session_start.c gives the writer thread's). The library knows
 * of its consumer what stands here and no more. All but drain under the session lock; a child of a
 * fork forgets the handle: it has no such thread, and nothing but the handle's memory is left of
 * it.
 */
#pragma once

#include <stdint.h>
#include "brick/session.h"

/* A consumer that runs; what it is made of is its own affair. */
struct consumer;

struct consumer_type {
	/*
	 * Begin to write the session in fd to options->output (under another name until it is
	 * whole). fd stays the caller's, and open until after stop. Drains at least every
	 * interval_ms, more often when a ring fills up. 1: so too, and the kernel refuses to tell
	 * when threads are off their CPUs, though that was asked for. -errno or BRICK_E*: nothing
	 * was started and no file is left.
	 */
	int (*start)(struct consumer **out, int fd, const struct brick_session_options *options);
	/*
	 * Drain now: when it returns, what was in the rings before the call is in the drained
	 * histograms. Waits for the clock's baseline (some 50 ms) in a young session. Any thread
	 * that lets stop wait.
	 */
	void (*drain)(struct consumer *consumer);
	/* The calling thread gets a lane, or leaves it. */
	void (*thread_begins)(struct consumer *consumer);
	void (*thread_ends)(struct consumer *consumer);
	/*
	 * Drain what is left, complete the file, end, free the handle. Call it after the session's
	 * state was set to closed. 0, or the first error there was, after which no file is left.
	 */
	int (*stop)(struct consumer *consumer);
};

/* brick_session_start() with a consumer for sessions that are written by this process. */
int brick__session_start(
	const struct brick_session_options *options, const struct consumer_type *consumer);
