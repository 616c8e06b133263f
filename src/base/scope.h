/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clean-up by the compiler, at the end of the block and at each return: the last declaration first,
 * after the return value was computed. Header only; any thread.
 *
 *	KEEP_ERRNO();
 *	HOLD(&lock);
 *	SCOPED char *text = text_of(row);
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/lock.h"

#define SCOPE_END(function) __attribute__((cleanup(function), unused))
#define SCOPE_NAME(name, line) name##line
#define SCOPE_LINE(name, line) SCOPE_NAME(name, line)

static inline void scope_errno(const int *kept)
{
	errno = *kept;
}

/* errno gets its present value back at the end of the block. */
#define KEEP_ERRNO() const int kept_errno SCOPE_END(scope_errno) = errno

static inline pthread_mutex_t *scope_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void scope_unlock(pthread_mutex_t *const *mutex)
{
	pthread_mutex_unlock(*mutex);
}

/* Hold a mutex to the end of the block. */
#define HOLD(mutex)                                                                  \
	pthread_mutex_t *const SCOPE_LINE(held_, __LINE__) SCOPE_END(scope_unlock) = \
		scope_lock(mutex)

static inline pthread_mutex_t *scope_take(pthread_mutex_t *mutex)
{
	lock_take(mutex);
	return mutex;
}

static inline void scope_give(pthread_mutex_t *const *mutex)
{
	lock_give(*mutex);
}

/* The same, and nothing disturbs the thread (src/base/lock.h). */
#define HOLD_UNCANCELLED(mutex) \
	pthread_mutex_t *const SCOPE_LINE(held_, __LINE__) SCOPE_END(scope_give) = scope_take(mutex)

static inline pthread_mutex_t *scope_take_briefly(pthread_mutex_t *mutex)
{
	lock_take_briefly(mutex);
	return mutex;
}

static inline void scope_give_brief(pthread_mutex_t *const *mutex)
{
	lock_give_brief(*mutex);
}

/* The same, but signals come as they do. */
#define HOLD_BRIEFLY(mutex)                                                              \
	pthread_mutex_t *const SCOPE_LINE(held_, __LINE__) SCOPE_END(scope_give_brief) = \
		scope_take_briefly(mutex)

static inline void scope_call(void (*const *end)(void))
{
	(*end)();
}

/* begin() is called here, end() when the block is left. */
#define BETWEEN(begin, end) \
	void (*const SCOPE_LINE(end_, __LINE__))(void) SCOPE_END(scope_call) = (begin(), (end))

static inline void scope_free(void *pointer)
{
	free(*(void **)pointer);
}

/* In front of a pointer's declaration: free() gets the pointer's value at the end of the block. */
#define SCOPED __attribute__((cleanup(scope_free)))

/*
 * In front of a declaration: end() gets the variable's address. A variable that is made from
 * another is declared after it, and so ends before it.
 */
#define SCOPED_BY(end) __attribute__((cleanup(end)))

/* In front of a pointer's declaration: destroy() gets its value. Needs SCOPE_OF(destroy, type). */
#define SCOPED_TO(destroy) SCOPED_BY(scope_##destroy)
#define SCOPE_OF(destroy, type)                                  \
	static inline void scope_##destroy(type *const *pointer) \
	{                                                        \
		destroy(*pointer);                               \
	}

static inline void scope_fclose(FILE *const *file)
{
	if (*file)
		fclose(*file);
}
