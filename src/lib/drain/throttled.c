/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.stat counts it in ns as throttled_time (version 1), or in us as throttled_usec (version 2). A
 * group above may have the limit, so all up to the mount are read; in a container, whose paths may
 * be the host's, those that are there.
 */
#include "lib/drain/throttled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"

static uint64_t number_behind(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static uint64_t of_group(const char *mount, const char *controller, const char *group)
{
	char path[512], text[1024];

	snprintf(path, sizeof path, "%s%s%s/cpu.stat", mount, controller, group);
	if (!file_begin(path, text, sizeof text))
		return 0;
	return number_behind(text, "throttled_time ") +
	       1000 * number_behind(text, "throttled_usec ");
}

/* The most of a group and of those above it. */
static uint64_t of_groups(const char *mount, const char *controller, char *group)
{
	uint64_t most = 0;

	for (;;) {
		uint64_t ns = of_group(mount, controller, group);
		char *last = strrchr(group, '/');
		most = ns > most ? ns : most;
		if (!last)
			return most;
		*last = 0;
	}
}

/* "4:cpu,cpuacct:/a/b" of version 1, "0::/a/b" of version 2. */
static uint64_t of_line(const char *mount, char *line)
{
	char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

	if (!group)
		return 0;
	*group++ = 0;
	if (!strncmp(names, ":cpu,", 5) || !strcmp(names, ":cpu") || strstr(names, ",cpu,"))
		return of_groups(mount, "/cpu", group);
	return names[1] ? 0 : of_groups(mount, "", group);
}

uint64_t throttled_ns(const char *groups, const char *mount)
{
	char text[4096], *rest = text;
	uint64_t most = 0;

	file_begin(groups, text, sizeof text);
	for (char *line; (line = strsep(&rest, "\n"));) {
		uint64_t ns = of_line(mount, line);
		most = ns > most ? ns : most;
	}
	return most;
}
