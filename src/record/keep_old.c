/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second name for the file: if the new recording does not come about, the one before still has
 * its own. Where a file can have one name only it is moved.
 */
#include "record/keep_old.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int keep_old(const char *path)
{
	struct stat st;
	char *old;
	int error = 0;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || asprintf(&old, "%s.old", path) < 0)
		return 0;
	if (lstat(old, &st) == 0 && S_ISREG(st.st_mode))
		unlink(old);
	if (link(path, old) && (errno == EEXIST || rename(path, old)))
		error = -errno;
	free(old);
	return error;
}
