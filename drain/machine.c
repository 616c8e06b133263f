/* SPDX-License-Identifier: Apache-2.0 */
/* Small readings of the system (machine.h), at the start and once a second. */
#include "drain/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* The first lines of /proc/cpuinfo describe one CPU in full, also on machines with hundreds. */
void drain_cpu_model(char *name, size_t bytes)
{
	char text[4096];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);

	name[0] = '\0';
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *line = strstr(text, "model name");
	const char *value = line ? strchr(line, ':') : NULL;
	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	size_t length = strcspn(value, "\n");
	if (length >= bytes)
		length = bytes - 1;
	memcpy(name, value, length);
	name[length] = '\0';
}

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
