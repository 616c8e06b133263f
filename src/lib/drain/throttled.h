/* SPDX-License-Identifier: Apache-2.0 */
/* How long a limit on CPU time (cgroups(7)) held this process's control group back. Any thread. */
#pragma once

#include <stdint.h>

/*
 * So far, in ns of CPU time. The paths are /proc/self/cgroup and where control groups are mounted.
 * 0: never, or nothing is known of it.
 */
uint64_t throttled_ns(const char *groups, const char *mount);
