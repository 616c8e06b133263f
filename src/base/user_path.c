/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XDG_..._HOME wins over HOME; the directory "brick" below it is ours, unless the folder is another
 * user's.
 */
#include "base/user_path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/scope.h"

/* root may have the HOME of somebody else (sudo), who decides what links and files are there. */
static bool is_anothers(const char *folder)
{
	struct stat status;

	return !stat(folder, &status) && status.st_uid && status.st_uid != geteuid();
}

char *user_path(enum user_place place, const char *format, ...)
{
	static const struct {
		const char *variable, *below_home;
	} places[] = {
		[USER_DATA] = {"XDG_DATA_HOME", "/.local/share"},
		[USER_CACHE] = {"XDG_CACHE_HOME", "/.cache"},
		[USER_CONFIG] = {"XDG_CONFIG_HOME", "/.config"},
	};
	const char *said = getenv(places[place].variable), *home = getenv("HOME");
	/* the specification says to ignore paths that are not absolute */
	bool is_said = said && *said == '/';
	char *name = NULL, *path = NULL;
	va_list arguments;

	if (!is_said && !(home && *home == '/')) {
		errno = ENOENT;
		return NULL;
	}
	va_start(arguments, format);
	int n = vasprintf(&name, format, arguments);
	va_end(arguments);
	if (n < 0)
		return NULL;
	n = asprintf(&path, "%s%s/brick/%s", is_said ? said : home,
		is_said ? "" : places[place].below_home, name);
	free(name);
	if (n < 0)
		return NULL;
	if (!is_anothers(is_said ? said : home))
		return path;
	errno = access(path, F_OK) ? ENOENT : EPERM;
	free(path);
	return NULL;
}

void user_path_make(const char *path)
{
	SCOPED char *copy = strdup(path);

	for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0700);
		*slash = '/';
	}
}
