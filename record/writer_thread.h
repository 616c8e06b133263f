/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded consumer: a thread of the profiled process that drains the process's own session
 * into a recording. start and stop from one thread at a time. A child of a fork forgets the handle;
 * it has no such thread, and nothing but the handle's memory is left of it there.
 */
#ifndef BRICK_RECORD_WRITER_THREAD_H
#define BRICK_RECORD_WRITER_THREAD_H

#include <stdint.h>

struct writer_thread;

/*
 * Begin to write the session in fd to PATH (PATH.part until it is whole). fd stays the caller's,
 * and open until after stop. Drains at least every interval_ms, more often when a ring fills up.
 * -errno or BRICK_E*: nothing was started and no file is left.
 */
int writer_thread_start(struct writer_thread **out, int fd, const char *path, uint32_t interval_ms);

/*
 * Drain now: when it returns, what was in the rings before the call is in the drained histograms.
 * Waits for the clock's baseline (some 50 ms) in a young session. Any thread that lets stop wait.
 */
void writer_thread_drain(struct writer_thread *t);

/*
 * Drain what is left, complete the file, end the thread, free t. Call it after the session's state
 * was set to closed. Returns 0 or the first error there was, after which no file is left.
 */
int writer_thread_stop(struct writer_thread *t);

#endif
