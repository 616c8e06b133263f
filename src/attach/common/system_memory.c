/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self/status, whose lines of memory stand behind all groups of the user. */
#include "attach/common/system_memory.h"

#include <stdlib.h>
#include "base/file.h"
#include "base/scope.h"
#include "lib/sys/confined.h"

static uint64_t system_memory_field(const char *key)
{
	char text[32] = "";

	file_field("/proc/self/status", key, text, sizeof(text));
	return strtoull(text, NULL, 10) * 1024;
}

struct system_memory system_memory_now(void)
{
	KEEP_ERRNO();

	if (brick__sys_is_confined())
		return (struct system_memory){0};
	return (struct system_memory){.peak_bytes = system_memory_field("VmHWM"),
		.anonymous_bytes = system_memory_field("RssAnon")};
}
