/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of ours in other people's programs: signals are for the program's own threads. Header
 * only; any thread.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* pthread_create() of one that blocks all signals but one (0: all). 0, or -errno. */
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
