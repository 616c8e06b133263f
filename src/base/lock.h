/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mutex for code that runs inside of other people's programs. A thread that holds one cannot
 * be cancelled (pthread_cancel(3)) until it has given back the last: a thread that is cancelled
 * at a system call keeps its locks for good. Any thread; not recursive.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

void lock_take(pthread_mutex_t *mutex);
/* Only if it is free: 0, or a positive error and nothing is held. */
int lock_try(pthread_mutex_t *mutex);
void lock_give(pthread_mutex_t *mutex);

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
void lock_cancel_off(void);
void lock_cancel_on(void);

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
