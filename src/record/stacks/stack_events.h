/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of a program's threads, which the kernel takes `hz` times per second of CPU time, and the
 * changes of their address spaces (perf_event_open(2)). Nothing is loaded into the program. One's
 * own processes need no privileges up to perf_event_paranoid 2. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum stack_event_kind {
	STACK_TAKEN,
	STACK_MAPPED,  /* code is at an address from now on, in place of what was there */
	STACK_NAMED,   /* a thread has a name; with is_exec its process became another program */
	STACK_STARTED, /* a thread, or, if `parent` is another process, a process */
	STACK_ENDED,   /* a thread */
};

/* Pointers are valid during the call of stack_event_fn. Members of other kinds are 0. */
struct stack_event {
	enum stack_event_kind kind;
	uint64_t time_ns; /* by CLOCK_MONOTONIC */
	uint32_t pid, tid, cpu;
	/* STACK_TAKEN: the thread's address, then return addresses, outwards. The kernel's marks
	 * (PERF_CONTEXT_USER) are among them. */
	const uint64_t *addresses;
	size_t count;	  /* of addresses */
	const char *text; /* STACK_MAPPED: the path; STACK_NAMED: the name; else "" */
	bool is_exec;	  /* STACK_NAMED */
	uint32_t parent;  /* STACK_STARTED: the process that started it */
	/* STACK_MAPPED */
	uint64_t start, bytes; /* addresses */
	uint64_t offset;       /* in the file */
	uint64_t inode;	       /* 0: not known, or it is no file */
	uint8_t build_id[20];
	size_t build_id_bytes; /* 0: not known */
};

struct stack_events;

/*
 * Follow a process from its next exec on: all of its threads, and its children's. -EACCES, -EPERM:
 * the kernel does not allow it; -ENOENT, -ENOSYS: it has none of it; -EMFILE, -ENOMEM, -ENODEV.
 */
int stack_events_follow(struct stack_events **out, pid_t pid, unsigned hz);

/* Follow no process yet. 0 or -ENOMEM. */
int stack_events_create(struct stack_events **out, unsigned hz);

typedef void (*stack_event_fn)(void *context, const struct stack_event *event);

/*
 * Follow a process that runs already, whose threads are all stopped, and what it starts. Hands out
 * at once what it has mapped, and its threads. Errors as above; -ENOENT also if /proc has nothing
 * of it; -E2BIG: too many threads are followed. After an error nothing of it is followed.
 */
int stack_events_add(struct stack_events *e, pid_t pid, stack_event_fn take, void *context);

/* Is a process followed? */
bool stack_events_any(const struct stack_events *e);

/*
 * Hand out the events before `until_ns`, in the order of time. Rings become visible a little late:
 * until_ns is OFF_CPU_VISIBLE_NS before now or earlier, or UINT64_MAX at the end. 0, or -ENOMEM:
 * events that were read without memory are counted as lost.
 */
int stack_events_read(
	struct stack_events *e, uint64_t until_ns, stack_event_fn take, void *context);

/* The number of records that the kernel, or we, had no room for. */
uint64_t stack_events_lost(const struct stack_events *e);

/* How often the kernel skipped samples on purpose (PERF_RECORD_THROTTLE). */
uint64_t stack_events_throttled(const struct stack_events *e);

/* The time in ms that fills an empty ring, if all records are stacks of the largest size. */
uint32_t stack_events_last_ms(const struct stack_events *e);

/* NULL is legal. No thread is followed any more. */
void stack_events_close(struct stack_events *e);
