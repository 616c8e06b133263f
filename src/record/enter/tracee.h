/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose threads are all stopped (ptrace(2), PTRACE_SEIZE): its memory, its mappings, and
 * where each thread is. Threads go on as if they had not been stopped. Waits that were interrupted
 * begin again in the kernel, but for those that it never begins again (signal(7)), as
 * epoll_wait(2). One thread, which must be the same for all calls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include "base/array.h"

struct tracee_thread {
	pid_t tid;
	bool is_stopped, is_in_group_stop;
	struct user_regs_struct registers;
};

struct tracee_mapping {
	uint64_t low, end, offset;
	bool is_readable, is_writable, is_executable;
	char *path; /* "": none */
};

struct tracee_mappings {
	ARRAY(struct tracee_mapping) of;
};

enum { TRACEE_CAVE_BYTES = 512 };

struct tracee {
	uint64_t cave; /* where code of ours is for a moment; 0: nowhere */
	uint8_t cave_former[TRACEE_CAVE_BYTES];
	pid_t pid;
	int memory;			     /* /proc/PID/mem; -1: not open */
	ARRAY(struct tracee_thread) threads; /* see tracee_go_on() */
	struct tracee_mappings mappings;     /* valid while stopped */
};

/* Open a process; nothing in it changes. 0 or -errno. tracee_close() it. */
int tracee_open(struct tracee *t, pid_t pid);
void tracee_close(struct tracee *t);

/*
 * Stop all threads. 0; -ETIMEDOUT: a thread does not stop; -EBUSY: it is stopped by a signal;
 * -errno of ptrace(2). After an error all threads go on, as by tracee_go_on().
 */
int tracee_stop(struct tracee *t);

/* The same, but a signal may have stopped it. Then it can make no system calls. */
int tracee_hold(struct tracee *t);

/*
 * All threads go on. Legal if they are not stopped. A thread that waits in the kernel where it
 * cannot be stopped stays in the list: it stops when it comes out, and the next call of
 * tracee_stop() or of this function waits for it.
 */
void tracee_go_on(struct tracee *t);

/* Let threads go that came out of the kernel meanwhile. Does not wait. */
void tracee_look(struct tracee *t);

/* False: its memory has gone, as it has ended or begun another program by exec(2). */
bool tracee_has_memory(const struct tracee *t);

/* Exactly so many bytes, or false. Reading works without tracee_stop(). */
bool tracee_read(const struct tracee *t, uint64_t address, void *to, size_t bytes);
bool tracee_write(struct tracee *t, uint64_t address, const void *from, size_t bytes);

/* Set a stopped thread's registers. */
bool tracee_lead(const struct tracee_thread *thread, const struct user_regs_struct *registers);

/* The thread goes on for a moment, and stops again wherever it is then. */
bool tracee_step_on(struct tracee_thread *thread, long ns);

/* Read the mappings of a process into an empty list. 0 or -errno. */
int tracee_mappings_read(struct tracee_mappings *list, pid_t pid);
void tracee_mappings_fini(struct tracee_mappings *list);

/* The mapping that an address lies in; NULL: none. */
const struct tracee_mapping *tracee_mapping_at(
	const struct tracee_mappings *list, uint64_t address);
