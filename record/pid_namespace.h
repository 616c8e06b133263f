/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes in a PID namespace of their own: what they say of themselves are other numbers than
 * ours. /proc tells both, of what it lets us see. Any thread.
 */
#pragma once

#include <sys/types.h>
#include "base/hashmap.h"

/* Are the numbers in /proc ours? It may be that of another namespace. */
int pid_namespace_is_in_proc(void);

/* The process that maps the session of that name and calls itself `pid`. 0: none, or it is hidden.
 */
pid_t pid_namespace_find(pid_t pid, const char *session);

/* Add what the threads of a process call themselves, by our numbers; known ones stay. 0, -ENOMEM.
 */
int pid_namespace_threads(struct hashmap *own_of, pid_t process);
