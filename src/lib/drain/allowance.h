/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the machine a process may use: the CPUs that its threads may run on, and the CPU time
 * and memory that its control groups (cgroups(7)) give it. Any thread.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "format/machine_use.h"

/* 0: no limit, or nothing is known of it. */
struct allowance {
	uint32_t cpus; /* that any of its threads may run on */
	uint64_t
		quota_permille; /* CPU time of its groups, in 1/1000 of one CPU: 2500 is 2.5 CPUs */
	uint64_t memory_bytes;	/* of its groups; the page cache counts */
	uint64_t throttled_ns;	/* time that the quota has kept its groups waiting so far */
};

/* Fills *out for a process; pid 0: this one. 0, or -ESRCH: there is no such process. */
int allowance_of(struct allowance *out, pid_t pid);

/*
 * Adds the limits of control groups to *out. groups: the path of /proc/PID/cgroup; mount: the path
 * where control groups are mounted. The group and all above it may have limits: the least counts.
 */
void allowance_of_groups(struct allowance *out, const char *groups, const char *mount);

/* Writes the allowance into a recording's account; throttled_ns: its value when recording began. */
void allowance_tell(
	const struct allowance *allowance, uint64_t throttled_ns, struct machine_use *out);
