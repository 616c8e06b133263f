/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When threads leave and get their CPUs: the kernel's own records of context switches
 * (perf_event_open(2), PERF_RECORD_SWITCH of a dummy software event; Linux 4.3 or newer, PREEMPT
 * bit 4.17). Needs no privileges for one's own processes up to perf_event_paranoid 2. Either of
 * another process, into which nothing is put, or of threads of this one. One thread at a time.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* A thread got a CPU or left it. */
struct brick__switch {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint8_t out;	   /* 1: it left its CPU; 0: it got one */
	uint8_t preempted; /* of `out`. 1: it could have gone on; 0: it waits for something */
};

struct brick__switches;

/*
 * Follow a process from its next exec on: all of its threads, and its children's. -EACCES, -EPERM:
 * the kernel does not allow it (perf_event_paranoid, seccomp), -ENOENT: the kernel has none of it,
 * -EMFILE, -ENOMEM.
 */
int brick__switches_follow(struct brick__switches **out, pid_t pid);

/*
 * Follow one more thread, which runs already, and all that it starts from now on. One that has
 * ended is passed over. Errors as above; -E2BIG: too many threads are followed. Not together with
 * brick__switches_join().
 */
int brick__switches_add(struct brick__switches *s, pid_t tid);

/* Makes an object that follows no thread yet: threads of this process may join. 0 or -ENOMEM. */
int brick__switches_create(struct brick__switches **out);

/*
 * Follow the calling thread from now on, into a ring of its own; no descriptor stays open, and a
 * fork's child has no part of it. Errors as above; -EPERM also when the user may lock no more
 * memory (perf_event_mlock_kb, RLIMIT_MEMLOCK).
 */
int brick__switches_join(struct brick__switches *s);

/* Stops following the calling thread; its ring is unmapped after the next brick__switches_read().
 */
void brick__switches_leave(struct brick__switches *s);

typedef void (*brick__switch_fn)(void *context, const struct brick__switch *s);

/*
 * Hand out, in the order of time, what happened before `until_ns`, which must not be later than the
 * time of the call. 0, or -ENOMEM: what was there is counted as lost.
 */
int brick__switches_read(
	struct brick__switches *s, uint64_t until_ns, brick__switch_fn take, void *context);

/* Returns how many records were lost, because the kernel or this process had no room for them. */
uint64_t brick__switches_lost(const struct brick__switches *s);

/*
 * Call it after brick__switches_read(). What the kernel had lost by then, and tells with a ring's
 * next record, is counted by brick__switches_lost_before(), too.
 */
void brick__switches_begin(struct brick__switches *s);
uint64_t brick__switches_lost_before(const struct brick__switches *s);

/* Returns how full the fullest ring is, in per cent. */
unsigned brick__switches_fill(const struct brick__switches *s);

/*
 * Returns a descriptor, which stays s's: poll(2) finds it readable when a ring has many records,
 * until brick__switches_waiting() counts them. Only of other processes. -1: there is none.
 */
int brick__switches_wait_fd(const struct brick__switches *s);

/* Returns how many records were not handed out yet, in the rings and behind them. */
uint64_t brick__switches_waiting(const struct brick__switches *s);

/* NULL is legal. No thread is followed any more, at no cost to any. */
void brick__switches_close(struct brick__switches *s);
