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

/*
 * Does it map the session of that name, or was it started to be recorded (it may have gone on to
 * another program)? 1 also when it is gone, 0 when we may not look, as we may at what we record.
 */
int process_is_recorded(pid_t pid, const char *session);
int process_has_ended(const struct process *process);
void process_release(struct process *process);
