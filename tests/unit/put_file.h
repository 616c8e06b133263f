/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the system would have, in a directory of a test's own. */
#pragma once

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A file of that text below root, with the directories between. */
static inline void put_file(const char *root, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}
