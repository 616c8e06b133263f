/* SPDX-License-Identifier: Apache-2.0 */
/* Called by consumers, at the start and once a second. */
#include "lib/drain/machine.h"

#include <sched.h>
#include <unistd.h>

uint32_t drain_cpus_online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (uint32_t)n : 1;
}

uint32_t drain_cpus_usable(void)
{
	cpu_set_t set;
	uint32_t online = drain_cpus_online();

	/* it is refused where there are more CPUs than a set has room for */
	uint32_t usable = sched_getaffinity(0, sizeof set, &set) ? 0 : (uint32_t)CPU_COUNT(&set);
	return usable && usable < online ? usable : online;
}
