/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 2 of control groups has cpu.max ("50000 100000" or "max 100000", us), memory.max and
 * cpu.stat's throttled_usec; version 1 has cpu.cfs_quota_us, cpu.cfs_period_us,
 * memory.limit_in_bytes (no limit: nearly 2^63) and throttled_time. A group above may have the
 * limit, so all up to the mount are read; in a container, whose paths may be the host's, those that
 * are there.
 */
#include "lib/drain/allowance.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define NO_MEMORY_LIMIT (UINT64_C(1) << 60)

/* A file of a group; false: there is none. */
static bool read_of(const char *folder, const char *name, char *text, size_t bytes)
{
	char path[640];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return file_begin(path, text, bytes) > 0;
}

static uint64_t number_behind(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* 0 is no limit. */
static void allowance_keep_least(uint64_t *least, uint64_t limit)
{
	if (limit && (!*least || limit < *least))
		*least = limit;
}

static void take_quota(struct allowance *out, const char *folder)
{
	char text[1024], period[64];
	unsigned long long quota = 0, per = 0;

	if (read_of(folder, "cpu.max", text, sizeof(text)))
		sscanf(text, "%llu %llu", &quota, &per); /* "max" is no number */
	else if (read_of(folder, "cpu.cfs_quota_us", text, sizeof(text)) && text[0] != '-' &&
		 read_of(folder, "cpu.cfs_period_us", period, sizeof(period))) {
		quota = strtoull(text, NULL, 10);
		per = strtoull(period, NULL, 10);
	}
	if (per && quota < UINT64_MAX / 1000)
		allowance_keep_least(&out->quota_permille, quota * 1000 / per);
	if (!read_of(folder, "cpu.stat", text, sizeof(text)))
		return;
	uint64_t ns = number_behind(text, "throttled_time ") +
		      1000 * number_behind(text, "throttled_usec ");
	if (ns > out->throttled_ns)
		out->throttled_ns = ns;
}

static void allowance_take_memory(struct allowance *out, const char *folder)
{
	char text[64];

	if (!read_of(folder, "memory.max", text, sizeof(text)) &&
		!read_of(folder, "memory.limit_in_bytes", text, sizeof(text)))
		return;
	uint64_t bytes = strtoull(text, NULL, 10); /* "max": 0 */
	allowance_keep_least(&out->memory_bytes, bytes < NO_MEMORY_LIMIT ? bytes : 0);
}

/* Of a group and of those above it. */
static void take_groups(struct allowance *out, const char *mount, const char *controller,
	char *group, void (*take)(struct allowance *out, const char *folder))
{
	char folder[512];

	for (;;) {
		snprintf(folder, sizeof(folder), "%s%s%s", mount, controller, group);
		take(out, folder);
		char *last = strrchr(group, '/');
		if (!last)
			return;
		*last = 0;
	}
}

static bool has_controller(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += length)
		if ((at == names || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* "4:cpu,cpuacct:/a/b" of version 1, "0::/a/b" of version 2. */
static void allowance_take_line(struct allowance *out, const char *mount, char *line)
{
	char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

	if (!group)
		return;
	*group++ = 0;
	char again[512];
	snprintf(again, sizeof(again), "%s", group);
	if (has_controller(++names, "cpu"))
		take_groups(out, mount, "/cpu", group, take_quota);
	else if (has_controller(names, "memory"))
		take_groups(out, mount, "/memory", group, allowance_take_memory);
	else if (!names[0]) {
		take_groups(out, mount, "", group, take_quota);
		take_groups(out, mount, "", again, allowance_take_memory);
	}
}

void allowance_of_groups(struct allowance *out, const char *groups, const char *mount)
{
	char text[4096], *rest = text;

	file_begin(groups, text, sizeof(text));
	for (char *line; (line = strsep(&rest, "\n"));)
		allowance_take_line(out, mount, line);
}

/* All CPUs that any thread may run on: each may have its own mask. */
static uint32_t cpus_of(const char *tasks)
{
	DIR *all = opendir(tasks);
	cpu_set_t any, one;

	CPU_ZERO(&any);
	for (struct dirent *entry; all && (entry = readdir(all));)
		if (isdigit((unsigned char)entry->d_name[0]) &&
			!sched_getaffinity(atoi(entry->d_name), sizeof(one), &one))
			CPU_OR(&any, &any, &one);
	if (all)
		closedir(all);
	return (uint32_t)CPU_COUNT(&any);
}

int allowance_of(struct allowance *out, pid_t pid)
{
	char path[64];
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	*out = (struct allowance){0};
	pid = pid ? pid : getpid();
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	out->cpus = cpus_of(path);
	if (!out->cpus)
		return -ESRCH;
	if (online > 0 && out->cpus > (uint32_t)online)
		out->cpus = (uint32_t)online;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	allowance_of_groups(out, path, "/sys/fs/cgroup");
	return 0;
}

void allowance_tell(const struct allowance *a, uint64_t throttled_ns, struct machine_use *out)
{
	out->quota_permille = a->quota_permille;
	out->memory_limit_bytes = a->memory_bytes;
	out->throttled_ns = a->throttled_ns > throttled_ns ? a->throttled_ns - throttled_ns : 0;
}
