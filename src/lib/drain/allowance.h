/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process may have of the machine: CPUs that its threads may run on, and what its control
 * groups (cgroups(7)) give it of CPU time and memory. Any thread.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "format/machine_use.h"

/* 0: no limit, or nothing is known of it. */
struct allowance {
	uint32_t cpus;		 /* that any of its threads may run on */
	uint64_t quota_permille; /* of a CPU: how much of all CPUs together its groups may use */
	uint64_t memory_bytes;	 /* with what it has of the page cache */
	uint64_t throttled_ns;	 /* by the quota so far, in ns of CPU time */
};

/* 0 or -errno: there is no such process. pid 0: this one. */
int allowance_of(struct allowance *out, pid_t pid);

/*
 * What control groups say. The paths are /proc/PID/cgroup and where control groups are mounted. The
 * group itself or one above it may have a limit: the least counts.
 */
void allowance_of_groups(struct allowance *out, const char *groups, const char *mount);

/* Into the account of a recording; throttled_ns: as it was when recording began. */
void allowance_tell(
	const struct allowance *allowance, uint64_t throttled_ns, struct machine_use *out);
