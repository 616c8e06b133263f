/* SPDX-License-Identifier: Apache-2.0 */
/* The last part of a path: "/usr/bin/engine" is called "engine". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The name; points into the path. NULL for NULL. */
static inline const char *path_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* True if the name begins with `beginning`. The path is not NULL. */
static inline bool path_is_called(const char *path, const char *beginning)
{
	return !strncmp(path_name(path), beginning, strlen(beginning));
}
