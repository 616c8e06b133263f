/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes in a PID namespace of their own: what they say of themselves are other numbers than
 * ours. /proc tells both, of what it lets us see. Any thread.
 */
#pragma once

#include <sys/types.h>
#include "base/hashmap.h"
#include "record/process.h"

/*
 * Who writes the session of that name and calls itself `pid`, which may be its number in a PID
 * namespace of its own. Our number 0: it is in another one, and /proc does not tell which it is.
 */
struct process pid_namespace_hold_writer(pid_t pid, const char *session);

/* Add what the threads of a process call themselves, by our numbers; known ones stay. 0, -ENOMEM.
 */
int pid_namespace_threads(struct hashmap *own_of, pid_t process);
