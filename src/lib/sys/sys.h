/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the library needs from the operating system and the CPU, and cannot get from C11 and
 * pthreads. Functions return 0 or -errno unless said otherwise, keep errno as it was, and may be
 * called from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which counter the CPU has (enum brick_clock_source); why not in `reason` when it is the OS clock.
 */
uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes);

/* Does the calling thread get a fault where it reads the counter, since the program wants that? */
bool brick__sys_counter_faults(void);

void brick__sys_unmap(void *address, uint64_t bytes);

/*
 * A page of zeros that is so again in each child of this process, however it was forked. NULL: not
 * to be had.
 */
void *brick__sys_page_of_process(void);

/* Bring the pages of a writable mapping into memory now (best effort). */
void brick__sys_touch(void *address, uint64_t bytes);

/*
 * Bytes that the process may still have: of memory, by its control group, and of addresses, by
 * RLIMIT_AS. UINT64_MAX: no limit is known.
 */
uint64_t brick__sys_memory_left(void);
uint64_t brick__sys_addresses_left(void);

/* Is this a handler of a signal, on a stack of its own that is smaller than any thread's? */
bool brick__sys_stack_is_small(void);

uint64_t brick__sys_thread_id(void);

/*
 * The same as the C library has it, without a system call: in the child of a raw clone() that is
 * still its parent's. 0: it does not say.
 */
uint64_t brick__sys_thread_known(void);
void brick__sys_thread_name(char *name, size_t bytes);

/* What the scheduler has counted of a thread since it began, in ns (/proc/PID/task/TID/schedstat):
 * it ran; it could have run and had no CPU. */
int brick__sys_thread_schedule(uint32_t pid, uint32_t tid, uint64_t *ran, uint64_t *queued);

/*
 * Of the calling thread: CPU time, and how often it was preempted and waited. False, and zeros: it
 * may not be asked for.
 */
struct brick__thread_usage {
	uint64_t cpu_ns, preemptions, waits;
};
bool brick__sys_thread_usage(struct brick__thread_usage *usage);

/* Own executable's path; "" if unknown. And argv, each ended by NUL: the bytes stored, 0 if
 * unknown.
 */
void brick__sys_executable(char *path, size_t bytes);
size_t brick__sys_command(char *argv, size_t bytes);

/*
 * Takes these bytes out of every cache of the machine, also code. -ENOTSUP: the CPU lets no
 * program do so.
 */
int brick__sys_flush(const volatile void *address, size_t bytes);

/* When this returns, earlier stores have reached the caches. */
void brick__sys_stores_done(void);
