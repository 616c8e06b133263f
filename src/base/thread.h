/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads inside of other people's programs: a call at a thread's end, and starting threads of
 * ours. Header only; any thread.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/scope.h"

/*
 * Calls a function at the end of each thread that has set a value. A process has few keys for that
 * (PTHREAD_KEYS_MAX, 1024 with glibc), and the program may have taken all: then nothing is called,
 * and no other key is touched.
 */
struct thread_exit {
	pthread_key_t key;
	bool exists; /* false: no key was left, or thread_exit_create() was not called yet */
};

/* Once, before any value is set: 0, -EAGAIN or -ENOMEM. */
static inline int thread_exit_create(struct thread_exit *e, void (*exits)(void *value))
{
	int error = pthread_key_create(&e->key, exits);

	e->exists = !error;
	return -error;
}

/*
 * Set the calling thread's value; NULL: nothing is called at its end. 0; -EAGAIN or -ENOMEM:
 * nothing will be called.
 */
static inline int thread_exit_set(const struct thread_exit *e, const void *value)
{
	return e->exists ? -pthread_setspecific(e->key, value) : -EAGAIN;
}

/*
 * Zeroed memory of this thread, as its value: exits() frees it. NULL: no memory. For data that is
 * too large for the static TLS of preloaded libraries. errno stays.
 */
static inline void *thread_exit_allocate(const struct thread_exit *e, size_t bytes)
{
	KEEP_ERRNO();
	void *own = calloc(1, bytes);

	if (own)
		thread_exit_set(e, own);
	return own;
}

/*
 * pthread_create() of a thread that blocks all signals but `but` (0: all), because signals are for
 * the program's own threads. 0 or -errno.
 */
static inline int thread_start(pthread_t *thread, const pthread_attr_t *attributes, int but,
	void *(*run)(void *), void *argument)
{
	sigset_t all, before;

	sigfillset(&all);
	if (but)
		sigdelset(&all, but);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(thread, attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}
