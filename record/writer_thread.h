/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded consumer: a thread of the profiled process itself that drains the process's session
 * into a recording. Called by lib/session.c and lib/stats.c under the session lock, which the
 * thread therefore never takes. After fork the child forgets its handle; nothing is freed there.
 */
#ifndef BRICK_RECORD_WRITER_THREAD_H
#define BRICK_RECORD_WRITER_THREAD_H

#include <stdint.h>

struct writer_thread;

/*
 * Start draining the session file `fd` (borrowed; outlives the thread) into a recording at `path`,
 * every interval_ms. Returns when the output exists; -errno if it cannot be created.
 */
int writer_thread_start(struct writer_thread **out, int fd, const char *path,
	uint32_t interval_ms);

/* Drain now; when it returns, all that was in the rings before the call is in the histograms. */
int writer_thread_drain(struct writer_thread *writer);

/* Drain the last, complete the file under its final name, end the thread, free. First error. */
int writer_thread_stop(struct writer_thread *writer);

#endif
