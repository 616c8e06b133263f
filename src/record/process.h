/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc says of other processes: whether one still lives, which sessions and recorders it
 * belongs to, and its number in another PID namespace. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include "base/hashmap.h"

/* Start time of a process in clock ticks since boot; 0 when there is no such living process. */
unsigned long long process_start_time(pid_t pid);

struct process {
	pid_t pid;
	unsigned long long start_time; /* 0: it was gone when we looked */
	int pidfd;		       /* readable once it has ended; -1: none */
};

/* Whether it has ended; 0 of one that cannot be told. */
bool process_has_ended(const struct process *process);
void process_release(struct process *process);

/*
 * Who writes the session of that name and calls itself `pid`, which may be its number in a PID
 * namespace of its own. Our number 0: it is in another one, and /proc does not tell which it is.
 */
struct process process_hold_writer(pid_t pid, const char *session);

/* Does it map the session of that name? 0 also where we may not look. */
int process_maps(pid_t pid, const char *session);

/*
 * Was it started by the recorder of that directory? It has the directory in its environment, or, if
 * it has overwritten that, maps a page that lies there. It is not, where we may not look; it is
 * unknown of what has just ended.
 */
enum process_is { PROCESS_IS_NOT, PROCESS_IS, PROCESS_IS_UNKNOWN };
enum process_is process_is_under(pid_t pid, const char *directory);

/*
 * Add what the threads of a process call themselves, by our numbers; known ones stay. 0 or -ENOMEM.
 */
int process_own_tids(struct hashmap *own_of, pid_t process);

/*
 * A process that the program has started, that outlives it and has no session now: a server
 * put into the background by a script reads its model for seconds before its first brick, and the
 * child that a launcher leaves as a daemon has none before its own.
 * Its pid, 0: there is none. `directory` is that of the sessions; `but` and we ourselves do not
 * count. `held` keeps it from call to call; its pid is 0 at first.
 */
pid_t process_find_straggler(struct process *held, const char *directory, pid_t but);
