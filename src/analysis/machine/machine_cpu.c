/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/cpuinfo and /sys/devices/system/cpu. In containers and virtual
 * machines some of it is missing.
 */
#include "analysis/machine/machine_cpu.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/number.h"

/* CPUs in a list such as "0-3,8": how many, and the first. */
static unsigned count_list(const char *list, int *first)
{
	unsigned count = 0;

	*first = -1;
	while (*list) {
		uint64_t low, high;
		if (number_leading_u64(list, &low, &list))
			break;
		high = low;
		if (*list == '-' && number_leading_u64(list + 1, &high, &list))
			break;
		if (low > INT32_MAX || high < low || high - low > CPU_MAX * 16)
			break;
		if (*first < 0)
			*first = (int)low;
		count += (unsigned)(high - low + 1);
		list = *list == ',' ? list + 1 : "";
	}
	return count;
}

/* With K or M after it; 0: it is none. */
static uint64_t parse_size(const char *text)
{
	const char *end;
	uint64_t value;

	if (number_leading_u64(text, &value, &end) || value > UINT64_MAX >> 31)
		return 0;
	return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : value;
}

static int read_in(const char *directory, const char *name, char *out, size_t bytes)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return file_line(path, out, bytes);
}

static void read_cache(struct cpu_info *info, const char *directory)
{
	char text[256];
	int first;

	if (!read_in(directory, "type", text, sizeof(text)) || !strcmp(text, "Instruction"))
		return;
	uint64_t level;
	if (!read_in(directory, "level", text, sizeof(text)) ||
		number_u64(text, 1, CPU_LEVELS, &level))
		return;
	struct cpu_cache *cache = &info->data[level - 1];
	cache->bytes = read_in(directory, "size", text, sizeof(text)) ? parse_size(text) : 0;
	cache->shared = read_in(directory, "shared_cpu_list", text, sizeof(text))
				? count_list(text, &first)
				: 0;
	if (!cache->shared)
		cache->shared = 1;
}

/* Returns 1 if a CPU is the first of its core, or the kernel does not say. */
static int leads_core(const char *sys, int cpu)
{
	char path[PATH_MAX], text[256];
	int first;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		sys, cpu);
	if (!file_line(path, text, sizeof(text)) || !count_list(text, &first))
		return 1;
	return first == cpu;
}

static void machine_cpu_read_cpus(struct cpu_info *info, const char *sys)
{
	cpu_set_t set;
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	info->online = online > 0 ? (unsigned)online : 1;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return;
	for (int leaders = 1; leaders >= 0; leaders--)
		for (int cpu = 0; cpu < CPU_SETSIZE && info->usable < CPU_MAX; cpu++)
			if (CPU_ISSET(cpu, &set) && leads_core(sys, cpu) == leaders)
				info->cpus[info->usable++] = cpu;
}

void cpu_info_read_from(struct cpu_info *info, const char *proc, const char *sys)
{
	char path[PATH_MAX];

	memset(info, 0, sizeof(*info));
	gethostname(info->host, sizeof(info->host) - 1);
	snprintf(path, sizeof(path), "%s/cpuinfo", proc);
	file_field(path, "model name", info->model, sizeof(info->model));
	if (!info->model[0])
		file_field(path, "CPU part", info->model, sizeof(info->model));
	file_field(path, "microcode", info->microcode, sizeof(info->microcode));
	machine_cpu_read_cpus(info, sys);
	char directory[PATH_MAX];
	for (int i = 0; i < 8; i++) {
		snprintf(directory, sizeof(directory), "%s/devices/system/cpu/cpu%d/cache/index%d",
			sys, info->usable ? info->cpus[0] : 0, i);
		read_cache(info, directory);
	}
}

void cpu_info_read(struct cpu_info *info)
{
	cpu_info_read_from(info, "/proc", "/sys");
}
