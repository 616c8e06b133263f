/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator whose n-th allocation fails, in place of libc's: for one test program, which
 * includes this once. MEMORY_CAN_FAIL is 0 under sanitizers, which have an allocator of their own.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define MEMORY_CAN_FAIL 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define MEMORY_CAN_FAIL 0
#endif
#ifndef MEMORY_CAN_FAIL
#define MEMORY_CAN_FAIL 1
#endif

static long memory_left = -1; /* allocations until one fails; negative: none does */
static long memory_blocks;    /* in use, of those made since memory_fail_at() */
static int memory_is_counted;

/* From now on count; the n-th allocation fails (0: the next), negative: none. */
static inline void memory_fail_at(long n)
{
	__atomic_store_n(&memory_left, n, __ATOMIC_RELAXED);
	__atomic_store_n(&memory_blocks, 0, __ATOMIC_RELAXED);
	memory_is_counted = 1;
}

/* None fails any more, but blocks are still counted; 1: an allocation has failed. */
static inline int memory_stop_failing(void)
{
	return __atomic_exchange_n(&memory_left, -1, __ATOMIC_RELAXED) < -1;
}

static inline void memory_count_end(void)
{
	memory_is_counted = 0;
}

#if MEMORY_CAN_FAIL
/* Also for libc and shared libraries, whatever the build hides by default. */
#define EVERYWHERE __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static int memory_fails(void)
{
	if (!memory_is_counted || __atomic_load_n(&memory_left, __ATOMIC_RELAXED) < 0)
		return 0;
	if (__atomic_fetch_sub(&memory_left, 1, __ATOMIC_RELAXED))
		return 0;
	memory_left = -2;
	errno = ENOMEM;
	return 1;
}

static void *memory_count(void *block, int is_new)
{
	if (memory_is_counted && block && is_new)
		__atomic_add_fetch(&memory_blocks, 1, __ATOMIC_RELAXED);
	return block;
}

EVERYWHERE void *malloc(size_t size)
{
	return memory_fails() ? NULL : memory_count(__libc_malloc(size), 1);
}

EVERYWHERE void *calloc(size_t count, size_t size)
{
	return memory_fails() ? NULL : memory_count(__libc_calloc(count, size), 1);
}

EVERYWHERE void *realloc(void *old, size_t size)
{
	return memory_fails() ? NULL : memory_count(__libc_realloc(old, size), !old);
}

EVERYWHERE void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return errno = ENOMEM, NULL;
	return realloc(old, bytes);
}

EVERYWHERE void free(void *block)
{
	if (memory_is_counted && block)
		__atomic_sub_fetch(&memory_blocks, 1, __ATOMIC_RELAXED);
	__libc_free(block);
}
#endif
