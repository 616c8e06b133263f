/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc describes the time namespace of the process's children. A process that has made a
 * namespace enters it only at an exec; until then it is taken to be in none.
 */
#include "base/time_namespace.h"

#include <stdio.h>
#include <string.h>
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/scope.h"

int64_t time_namespace_offset_ns(clockid_t clock)
{
	KEEP_ERRNO();
	char text[256], own[32], childrens[32];
	const char *line;
	long long s, ns;

	file_link("/proc/self/ns/time", own, sizeof(own));
	file_link("/proc/self/ns/time_for_children", childrens, sizeof(childrens));
	if (strcmp(own, childrens) != 0)
		return 0;
	file_begin("/proc/self/timens_offsets", text, sizeof(text));
	line = strstr(text, clock == CLOCK_BOOTTIME ? "boottime" : "monotonic");
	return line && sscanf(line, "%*s %lld %lld", &s, &ns) == 2 ? s * (int64_t)NS_PER_S + ns : 0;
}
