/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a recording, checked before anything is written: the finished file is renamed to it,
 * which would replace a device like /dev/null as readily as an old recording.
 */
#include "drain/output.h"

#include <errno.h>
#include <fcntl.h>
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

static int part_name(char *part, const char *path)
{
	int n = snprintf(part, PATH_MAX, "%s.part", path);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int drain_output_claim(const char *path)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char part[PATH_MAX];

	int error = part_name(part, path);
	if (error)
		return error;
	int fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (fd < 0)
		return -errno;
	/* a file system without locks does not keep us from recording */
	if (fcntl(fd, F_SETLK, &whole) < 0 && (errno == EACCES || errno == EAGAIN)) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

void drain_output_disclaim(const char *path, int claim)
{
	char part[PATH_MAX];

	if (!part_name(part, path))
		unlink(part);
	close(claim);
}
