/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits are read from /proc and /sys/fs/cgroup, both versions. The page cache does not count as
 * use of a cgroup, as it gives way.
 */
#include "base/memory_left.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/number.h"

/* The value of a line "name value" or "name: value"; with no name, the file's first number. */
static int memory_read_value(const char *path, const char *name, uint64_t *value)
{
	char line[256];
	size_t length = strlen(name);
	FILE *file = fopen(path, "re");
	int found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *at = line + length, *end;
		if (strncmp(line, name, length) || (length && *at != ' ' && *at != ':'))
			continue;
		at += *at == ':';
		*value = strtoull(at, &end, 10);
		found = end != at;
		if (!length)
			break;
	}
	if (file)
		fclose(file);
	return found;
}

struct version {
	const char *controller, *mount, *limit;
	const char *used[3]; /* of memory.stat */
};

static const struct version versions[] = {
	{"", "/sys/fs/cgroup", "memory.max", {"anon", "shmem", "slab_unreclaimable"}},
	{"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", {"total_rss", "total_shmem"}},
};

/* The memory left in one group; UINT64_MAX: no limit. */
static uint64_t memory_left_in(const char *directory, const struct version *v)
{
	char path[PATH_MAX + 32];
	uint64_t limit, used = 0, value;

	snprintf(path, sizeof(path), "%s/%s", directory, v->limit);
	if (!memory_read_value(path, "", &limit))
		return UINT64_MAX; /* none, or "max" */
	snprintf(path, sizeof(path), "%s/memory.stat", directory);
	for (size_t i = 0; i < 3 && v->used[i]; i++)
		used += memory_read_value(path, v->used[i], &value) ? value : 0;
	return number_minus(limit, used);
}

/* The least memory left in our group and the groups that hold it, as far as they can be seen. */
static uint64_t left_upwards(const char *root, const struct version *v, char *group)
{
	char directory[PATH_MAX];
	uint64_t left = UINT64_MAX;

	for (;;) {
		snprintf(directory, sizeof(directory), "%s%s%s", root, v->mount, group);
		left = number_min(left, memory_left_in(directory, v));
		char *slash = strrchr(group, '/');
		if (!slash)
			return left;
		*slash = '\0';
	}
}

static uint64_t left_of_groups(const char *root)
{
	char path[PATH_MAX], line[PATH_MAX];
	uint64_t left = UINT64_MAX;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		/* number:controllers:/group */
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
			if (!strcmp(controllers + 1, versions[i].controller))
				left = number_min(left, left_upwards(root, &versions[i], group));
	}
	if (file)
		fclose(file);
	return left;
}

static uint64_t left_of_addresses(const char *root)
{
	char path[PATH_MAX];
	struct rlimit limit;
	uint64_t pages = 0;

	snprintf(path, sizeof(path), "%s/proc/self/statm", root);
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY ||
		!memory_read_value(path, "", &pages))
		return UINT64_MAX;
	return number_minus(limit.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

static uint64_t left_of_machine(const char *root)
{
	char path[PATH_MAX];
	uint64_t kib;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	return memory_read_value(path, "MemAvailable", &kib) ? kib << 10 : UINT64_MAX;
}

uint64_t memory_left_bytes(const char *root)
{
	return number_min(
		left_of_machine(root), number_min(left_of_groups(root), left_of_addresses(root)));
}
