/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about other processes, from /proc: whether a process lives, which session and recorder it
 * belongs to, and its number in another PID namespace. Any thread; a struct process is for one
 * thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/hashmap.h"

struct process {
	pid_t pid;		       /* in our PID namespace; 0: unknown */
	unsigned long long start_time; /* 0: the process was gone when we looked */
	int pidfd;		       /* readable once the process has ended; -1: none */
};

/* True if the process has ended; false also if its pid is unknown. */
bool process_has_ended(const struct process *process);

/* Closes the pidfd. Can be called twice. */
void process_release(struct process *process);

/*
 * The process that writes the session file of this name, and that calls itself `pid`: in a PID
 * namespace of its own, that is not our number. The result's pid is 0 if /proc does not tell the
 * process. End with process_release().
 */
struct process process_hold_writer(pid_t pid, const char *session);

/* True if the process maps a file whose path contains `session`; false also without permission. */
bool process_maps(pid_t pid, const char *session);

/*
 * Whether the recorder with this session directory started the process: the directory is in the
 * process's environment, or the process maps a page of a file there (for programs that overwrite
 * their environment). PROCESS_IS_NOT also without permission; PROCESS_IS_UNKNOWN if the process has
 * just ended.
 */
enum process_is { PROCESS_IS_NOT, PROCESS_IS, PROCESS_IS_UNKNOWN };
enum process_is process_is_under(pid_t pid, const char *directory);

/*
 * Add the threads of a process: our number -> the thread's own number (gettid()). Entries that
 * exist stay. 0 or -ENOMEM.
 */
int process_own_tids(struct hashmap *own_of, pid_t process);

/*
 * The pid of a process that the program has started and that still runs, whether it has a session
 * or not; 0: there is none. Examples are a server in the background, which reads its model for
 * seconds before its first brick, and a launcher's daemon. `directory` is the session directory.
 * The process `but` and our own do not count. `held` remembers the process from call to call: all 0
 * before the first call.
 */
pid_t process_find_straggler(struct process *held, const char *directory, pid_t but);

/* The most memory that a process has had so far (VmHWM), in bytes. 0: not known. */
uint64_t process_peak_bytes(pid_t pid);
