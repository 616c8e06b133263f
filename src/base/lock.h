/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mutex for code that runs inside of other people's programs. A thread that holds such a mutex
 * cannot be cancelled (pthread_cancel(3)) and runs no signal handler, because a thread that is
 * cancelled, or leaves a handler by siglongjmp(), would keep its locks for good. Signals of faults
 * come all the same. Any thread; not recursive.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

void lock_take(pthread_mutex_t *mutex);
/* Take the mutex if it is free. 0, or a positive error: the mutex is not held. */
int lock_try(pthread_mutex_t *mutex);
void lock_give(pthread_mutex_t *mutex);

/*
 * The same, but signals are not blocked, which saves two system calls. For a few instructions that
 * never wait, such as those for each record.
 */
void lock_take_briefly(pthread_mutex_t *mutex);
void lock_give_brief(pthread_mutex_t *mutex);

/*
 * True: from now on no lock blocks signals, because the system calls for that may kill a confined
 * program (seccomp). Returns the former setting.
 */
bool lock_leave_signals(bool leaves);

/*
 * True if the calling thread holds such a mutex: a signal handler may have interrupted its holder.
 */
bool lock_is_held(void);

/*
 * Between these, a mutex that another thread holds counts as taken: for the child of a clone(),
 * which does not have that thread.
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
