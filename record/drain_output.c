/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a recording, checked before anything is written: the finished file is renamed to it,
 * which would replace a device like /dev/null as readily as an old recording.
 */
#include "record/drain_output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int drain_output_resolve(char **out, const char *path)
{
	char directory[PATH_MAX] = "";
	struct stat st;

	if (!*path)
		return -ENOENT;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (path[strlen(path) - 1] == '/')
		return -EISDIR;
	if (path[0] != '/' && !getcwd(directory, sizeof directory))
		return -errno;
	return asprintf(out, "%s%s%s", directory, *directory ? "/" : "", path) < 0 ? -ENOMEM : 0;
}
