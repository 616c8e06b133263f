/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer of a session inside of its process, as a table of functions that the session gets
 * when it starts. src/lib/embed/writer_thread.c has the one such table. All functions are called
 * under the session lock. The child of a fork has no consumer: it forgets the handle without
 * calling stop.
 */
#pragma once

#include <stdint.h>
#include "brick/session.h"

/* A running consumer, opaque here. */
struct consumer;

struct consumer_type {
	/*
	 * Begins to write the session in fd to options->output, under the name OUTPUT.part until it
	 * is whole. fd stays the caller's, and open until after stop. The consumer drains at least
	 * every interval_ms, and more often when a ring fills up. 0. 1: started, but the kernel
	 * refuses to tell when threads are off their CPUs, although the options ask for it. -errno
	 * or BRICK_E*: nothing was started and no file is left.
	 */
	int (*start)(struct consumer **out, int fd, const struct brick_session_options *options);
	/*
	 * Drains now: when it returns, the records that were in the rings before the call are in
	 * the drained histograms. In a young session it waits for the clock's baseline (some 50
	 * ms). stop must not run at the same time.
	 */
	void (*drain)(struct consumer *consumer);
	/* The calling thread has got a lane, or leaves it. */
	void (*thread_begins)(struct consumer *consumer);
	void (*thread_ends)(struct consumer *consumer);
	/*
	 * Drains what is left, completes the file, ends, and frees the handle. The session's state
	 * must be BRICK_SESSION_CLOSED before. 0, or the first error that there was: then
	 * OUTPUT.part holds what was written before it.
	 */
	int (*stop)(struct consumer *consumer);
};

/*
 * brick_session_start() and brick_session_create(); `consumer` takes the records of a session that
 * has an output.
 */
int brick__session_start(
	const struct brick_session_options *options, const struct consumer_type *consumer);
int brick__session_make(struct brick_session **out, const struct brick_session_options *options,
	const struct consumer_type *consumer);
