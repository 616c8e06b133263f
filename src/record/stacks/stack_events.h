/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of a program's threads, as the kernel takes them so many times a second of CPU time, with
 * what it says of the address spaces that they are of (perf_event_open(2)). Nothing is put into the
 * program. Needs no privileges for one's own processes up to perf_event_paranoid 2. One thread at a
 * time.
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

/* Pointers are good during the call that hands it out. */
struct stack_event {
	enum stack_event_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid, cpu;
	const uint64_t *addresses; /* innermost first: where it was, then what it returns to */
	size_t count;
	const char *text; /* a mapped file's path, or a thread's name */
	bool is_exec;
	uint32_t parent; /* process */
	uint64_t start, bytes, offset;
	uint64_t inode; /* 0: not known, or it is no file */
	uint8_t build_id[20];
	size_t build_id_bytes; /* 0: not known */
};

struct stack_events;

/*
 * Follow a process from its next exec on: all of its threads, and its children's. -EACCES, -EPERM:
 * the kernel does not allow it; -ENOENT, -ENOSYS: it has none of it; -EMFILE, -ENOMEM, -ENODEV.
 */
int stack_events_follow(struct stack_events **out, pid_t pid, unsigned hz);

typedef void (*stack_event_fn)(void *context, const struct stack_event *event);

/*
 * Hand out, in the order of time, what happened before `until_ns`, which must not be later than the
 * time of the call. 0, or -ENOMEM: what was there is counted as lost.
 */
int stack_events_read(
	struct stack_events *e, uint64_t until_ns, stack_event_fn take, void *context);

/* Records that the kernel, or we, had no room for; how often the kernel skipped some on purpose. */
uint64_t stack_events_lost(const struct stack_events *e);
uint64_t stack_events_throttled(const struct stack_events *e);

/* No ring can be full sooner than so many ms after it was read, if all records are stacks. */
uint32_t stack_events_last_ms(const struct stack_events *e);

/* NULL is legal. No thread is followed any more. */
void stack_events_close(struct stack_events *e);
