/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the program may still take, by its own limit and by that of its control group (version
 * 2, else 1). Pages of files that nobody has used for long are the kernel's to give back, and count
 * as free. A group whose files are not where the process sees them has no limit here.
 */
#include "lib/sys/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/descriptor.h"
#include "base/file.h"
#include "base/scope.h"
#include "lib/sys/confined.h"

static uint64_t headroom_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * What follows `key` in the first line that has it, "" if none has. By small parts: a thread's
 * first brick, which asks this, may be on a stack of 16 KiB.
 */
static void read_behind(const char *path, const char *key, char *out, size_t bytes)
{
	char text[512];
	size_t kept = 0;
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 || fstat(fd, &st) ? 0 : 1;
	off_t from = 0;

	*out = '\0';
	while (got > 0 && kept < sizeof(text) - 1) {
		got = pread(fd, text + kept, sizeof(text) - 1 - kept, from);
		from += got > 0 ? got : 0;
		kept += got > 0 ? (size_t)got : 0;
		text[kept] = '\0';
		const char *at = strstr(text, key), *line = strrchr(text, '\n');
		if (at && (got <= 0 || (line && line > at))) {
			at += strlen(key);
			snprintf(out, bytes, "%.*s", (int)strcspn(at, "\n"), at);
			break;
		}
		size_t done = line ? (size_t)(line + 1 - text) : 0;
		memmove(text, text + done, kept -= done);
	}
	descriptor_close(fd, &st);
}

/* UINT64_MAX: "max", or it cannot be read. */
static uint64_t headroom_read_number(const char *directory, const char *name)
{
	char path[600], text[64], *end;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (!file_begin(path, text, sizeof(text)))
		return UINT64_MAX;
	unsigned long long value = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : value;
}

static uint64_t headroom_left_in(
	const char *directory, const char *limit, const char *used, const char *idle)
{
	uint64_t most = headroom_read_number(directory, limit),
		 now = headroom_read_number(directory, used);

	if (most == UINT64_MAX || now == UINT64_MAX)
		return UINT64_MAX;
	char path[600], text[32];
	snprintf(path, sizeof(path), "%s/memory.stat", directory);
	read_behind(path, idle, text, sizeof(text));
	return headroom_less(most, headroom_less(now, strtoull(text, NULL, 10)));
}

uint64_t brick__sys_memory_left(void)
{
	KEEP_ERRNO();
	char group[400], directory[500];

	if (brick__sys_is_confined())
		return 0;

	read_behind("/proc/self/cgroup", "0::", group, sizeof(group));
	snprintf(directory, sizeof(directory), "/sys/fs/cgroup%s", group);
	uint64_t left =
		headroom_left_in(directory, "memory.max", "memory.current", "inactive_file ");
	if (left != UINT64_MAX)
		return left;
	read_behind("/proc/self/cgroup", ":memory:", group, sizeof(group));
	snprintf(directory, sizeof(directory), "/sys/fs/cgroup/memory%s", group);
	return headroom_left_in(directory, "memory.limit_in_bytes", "memory.usage_in_bytes",
		"total_inactive_file ");
}

uint64_t brick__sys_addresses_left(void)
{
	KEEP_ERRNO();
	struct rlimit space;
	char text[64];

	if (brick__sys_is_confined())
		return 0;

	if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY ||
		!file_begin("/proc/self/statm", text, sizeof(text)))
		return UINT64_MAX;
	return headroom_less(
		space.rlim_cur, strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE));
}
