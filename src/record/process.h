/* SPDX-License-Identifier: Apache-2.0 */
/* A process of which only the number is known, and which another must not be taken for. Any thread.
 */
#pragma once

#include <sys/types.h>

/* Start time of a process in clock ticks since boot; 0 when there is no such living process. */
unsigned long long process_start_time(pid_t pid);

struct process {
	pid_t pid;
	unsigned long long start_time; /* 0: it was gone when we looked */
	int pidfd;		       /* readable once it has ended; -1: none */
};

struct process process_hold(pid_t pid);

/* Does it map the session of that name? 0 also where we may not look. */
int process_maps(pid_t pid, const char *session);

/* Was it started under a recorder? 1 also where we may not look. */
int process_may_be_recorded(pid_t pid);

/* Was it started by the recorder of that directory? 0 also where we may not look. */
int process_is_under(pid_t pid, const char *directory);

/* 0 of one that cannot be told. */
int process_has_ended(const struct process *process);
void process_release(struct process *process);
