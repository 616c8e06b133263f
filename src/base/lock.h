/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mutex for code that runs inside of other people's programs. Until a thread has given back the
 * last, it cannot be cancelled (pthread_cancel(3)) and runs no handler of a signal: a thread that
 * is cancelled, or leaves by siglongjmp(), keeps its locks for good. Signals of faults come all the
 * same. Any thread; not recursive.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

void lock_take(pthread_mutex_t *mutex);
/* Only if it is free: 0, or a positive error and nothing is held. */
int lock_try(pthread_mutex_t *mutex);
void lock_give(pthread_mutex_t *mutex);

/*
 * The same with signals as they are, which saves two system calls. For a few instructions under
 * which no thread waits, once for each record.
 */
void lock_take_briefly(pthread_mutex_t *mutex);
void lock_give_brief(pthread_mutex_t *mutex);

/*
 * From now on signals are left alone, since the program may be killed by any system call; false: no
 * longer. Returns what was so before.
 */
bool lock_leave_signals(bool leaves);

/* Does the calling thread hold one of them? In a handler of a signal it may have been stopped
 * there. */
bool lock_is_held(void);

/*
 * Between these a mutex that cannot be had counts as taken: in the child of a clone(), where
 * whoever held it is not.
 */
void lock_seize_begin(void);
void lock_seize_end(void);

/* The same protection without a lock; pairs nest. */
void lock_still_begin(void);
void lock_still_end(void);

/*
 * For a static mutex under which no other is taken. A fork waits for it, so that the child finds
 * it free.
 */
#define LOCK_OVER_FORKS(mutex)                                                   \
	static void take_for_fork(void)                                          \
	{                                                                        \
		pthread_mutex_lock(&(mutex));                                    \
	}                                                                        \
	static void give_after_fork(void)                                        \
	{                                                                        \
		pthread_mutex_unlock(&(mutex));                                  \
	}                                                                        \
	__attribute__((constructor)) static void watch_forks(void)               \
	{                                                                        \
		pthread_atfork(take_for_fork, give_after_fork, give_after_fork); \
	}
