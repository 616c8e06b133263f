/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer of a session inside of its process, as a table that the session
 * gets when it starts (src/lib/embed/writer_thread.c gives the writer thread's). All functions
 * but drain are called under the session lock. The child of a fork has no such thread and
 * forgets the handle.
 */
#pragma once

#include <stdint.h>
#include "brick/session.h"

/* A running consumer, opaque here. */
struct consumer;

struct consumer_type {
	/*
	 * Begin to write the session in fd to options->output (under another name until it is
	 * whole). fd stays the caller's, and open until after stop. Drains at least every
	 * interval_ms, more often when a ring fills up. 0; 1: started, but the kernel refuses to
	 * tell when threads are off their CPUs, which was asked for. -errno or BRICK_E*: nothing
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

/*
 * brick_session_start() and brick_session_create() with a consumer for sessions that are written by
 * this process.
 */
int brick__session_start(
	const struct brick_session_options *options, const struct consumer_type *consumer);
int brick__session_make(struct brick_session **out, const struct brick_session_options *options,
	const struct consumer_type *consumer);
