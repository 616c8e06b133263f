/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of the caches by the instructions that programs may use. */
#include <errno.h>
#include "lib/sys/sys.h"

enum { LINE_BYTES = 64 }; /* or a multiple: then lines are flushed twice */

void brick__sys_stores_done(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#if defined(__x86_64__)
static void flush_line(uintptr_t line)
{
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
}

static void finish(void)
{
	__asm__ volatile("mfence" : : : "memory");
}
#elif defined(__aarch64__)
static void flush_line(uintptr_t line)
{
	__asm__ volatile("dc civac, %0\n\tic ivau, %0" : : "r"(line) : "memory");
}

static void finish(void)
{
	__asm__ volatile("dsb sy\n\tisb" : : : "memory");
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
int brick__sys_flush(const volatile void *address, size_t bytes)
{
	uintptr_t begin = (uintptr_t)address & ~(uintptr_t)(LINE_BYTES - 1);

	for (uintptr_t line = begin; line < (uintptr_t)address + bytes; line += LINE_BYTES)
		flush_line(line);
	finish();
	return 0;
}
#else
int brick__sys_flush(const volatile void *address, size_t bytes)
{
	return -ENOTSUP;
}
#endif
