/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else used the machine's CPUs while something was recorded: the machine's accounts
 * (/proc/stat) and those of every process (/proc/PID/stat), at the beginning and at the end; what
 * the machine and control groups let this process have. An object is one thread's, the rest any
 * thread's.
 */
#pragma once

#include <stdint.h>
#include "lib/writer/machine_use.h"

struct neighbours;

/* Note where all accounts stand. -ENOENT: there is no /proc/stat, -ENOMEM. */
int neighbours_create(struct neighbours **out);

/*
 * What was used since then. A process is another when neither it nor one that started it is `tree`,
 * nor it is this one; one that began and ended in between shows only in busy_ns. 0 or -errno.
 */
int neighbours_use(const struct neighbours *n, uint32_t tree, struct machine_use *out);

/* NULL is legal. */
void neighbours_destroy(struct neighbours *n);

uint32_t drain_cpus_online(void);

/* That this thread may run on, and what it starts. */
uint32_t drain_cpus_usable(void);

/*
 * How long a limit on CPU time (cgroups(7)) has held this process's control group back so far, in
 * ns of CPU time. The paths are /proc/self/cgroup and where control groups are mounted. 0: never,
 * or nothing is known of it.
 */
uint64_t throttled_ns(const char *groups, const char *mount);
