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

/*
 * Returns the counter that the CPU has (enum brick_clock_source). If it has none that is sound,
 * that is BRICK_CLOCK_MONOTONIC, and `reason` says why.
 */
uint32_t brick__sys_counter_kind(char *reason, size_t reason_bytes);

/* True if the program has forbidden the calling thread to read the counter (prctl(PR_SET_TSC)). */
bool brick__sys_counter_faults(void);

void brick__sys_unmap(void *address, uint64_t bytes);

/*
 * Maps a page of zeros, which the kernel empties in each child of this process, however the child
 * was made. NULL: the kernel has no such pages (before Linux 4.14), or no memory.
 */
void *brick__sys_page_of_process(void);

/* Bring the pages of a writable mapping into memory now (best effort). */
void brick__sys_touch(void *address, uint64_t bytes);

/*
 * Return the bytes that the process may still get: of memory, by the limit of its control group; of
 * addresses, by RLIMIT_AS. UINT64_MAX: no limit is known.
 */
uint64_t brick__sys_memory_left(void);
uint64_t brick__sys_addresses_left(void);

/* True on a signal handler's own stack (sigaltstack(2)) that is smaller than any thread's. */
bool brick__sys_stack_is_small(void);

/* Returns the kernel's number of the calling thread (gettid(2)). */
uint64_t brick__sys_thread_id(void);

/*
 * Returns the number of the calling thread as the C library has it, without a system call; in the
 * child of a raw clone() that is still the parent's number. 0: not known.
 */
uint64_t brick__sys_thread_known(void);

/* Stores the name of the calling thread, "" if it is not known. */
void brick__sys_thread_name(char *name, size_t bytes);

/*
 * Reads how long a thread has run since it began, and how long it could have run and had no CPU, in
 * ns (/proc/PID/task/TID/schedstat).
 */
int brick__sys_thread_schedule(uint32_t pid, uint32_t tid, uint64_t *ran, uint64_t *queued);

/* CPU time of a thread, and how often it was preempted, and gave up its CPU to wait. */
struct brick__thread_usage {
	uint64_t cpu_ns, preemptions, waits;
};

/* Reads the usage of the calling thread. False, and zeros: the process is confined (confined.h). */
bool brick__sys_thread_usage(struct brick__thread_usage *usage);

/*
 * Store the path of this process's executable ("": not known), and its argv, each argument ended by
 * NUL: returns the bytes stored, 0: not known.
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
