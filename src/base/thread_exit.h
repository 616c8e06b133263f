/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is called when a thread ends that has set a value. A process has few keys for that
 * (PTHREAD_KEYS_MAX, 1024 with glibc), and the program that we live in may have taken all: then
 * nothing is called, and nobody else's key is touched. Header only; any thread.
 */
#pragma once

#include <errno.h>
#include <pthread.h>

struct thread_exit {
	pthread_key_t key;
	int exists; /* 0: there was no key left, or it has not been asked for */
};

/* Once, before any value is set: 0, -EAGAIN or -ENOMEM. */
static inline int thread_exit_create(struct thread_exit *e, void (*exits)(void *value))
{
	int error = pthread_key_create(&e->key, exits);

	e->exists = !error;
	return -error;
}

/* NULL: nothing is called any more. 0, -EAGAIN or -ENOMEM: nothing will be called. */
static inline int thread_exit_set(const struct thread_exit *e, const void *value)
{
	return e->exists ? -pthread_setspecific(e->key, value) : -EAGAIN;
}
