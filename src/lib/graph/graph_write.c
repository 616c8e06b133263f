/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing an execution graph: the choice of the format, and files that appear under their name when
 * they are whole.
 */
#include "lib/graph/graph_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int brick_graph_write(
	struct brick_graph *graph, int format, brick_graph_write_fn write, void *context)
{
	static int (*const formats[BRICK_GRAPH_FORMATS])(
		struct brick_graph * graph, struct brick__sink * sink) = {
		[BRICK_GRAPH_DOT] = brick__graph_put_dot,
		[BRICK_GRAPH_JSON] = brick__graph_put_json,
		[BRICK_GRAPH_CSR] = brick__graph_put_csr,
		[BRICK_GRAPH_FOLDED] = brick__graph_put_folded,
		[BRICK_GRAPH_TREE] = brick__graph_put_tree,
	};
	struct brick__sink sink = {.write = write, .context = context};

	if (format < 0 || format >= BRICK_GRAPH_FORMATS)
		return -EINVAL;
	int error = formats[format](graph, &sink);
	int failed = brick__flush(&sink);
	return error < 0 ? error : failed;
}

static int write_fd(void *context, const char *data, size_t bytes)
{
	int fd = *(int *)context;

	while (bytes) {
		ssize_t n = write(fd, data, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int write_file(struct brick_graph *graph, int format, int fd)
{
	int error = brick_graph_write(graph, format, write_fd, &fd);

	if (close(fd) < 0 && error == 0)
		error = -errno;
	return error;
}

/* A new file beside the path, under a name that was free. Returns its descriptor, or -errno. */
static int open_beside(const char *path, char *name)
{
	for (int i = 0; i < 100; i++) {
		int n = snprintf(name, PATH_MAX, "%s.part-%ld-%d", path, (long)getpid(), i);
		if (n < 0 || n >= PATH_MAX)
			return -ENAMETOOLONG;
		int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int save(struct brick_graph *graph, int format, const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* a pipe or a device, as it is */
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : write_file(graph, format, fd);
	}
	int fd = open_beside(path, name);
	if (fd < 0)
		return fd;
	int error = write_file(graph, format, fd);
	if (error == 0 && rename(name, path) < 0)
		error = -errno;
	if (error < 0)
		unlink(name);
	return error;
}

int brick_graph_save(struct brick_graph *graph, int format, const char *path)
{
	int saved_errno = errno;

	if (format < 0 || format >= BRICK_GRAPH_FORMATS || !path || !*path)
		return -EINVAL;
	int error = save(graph, format, path);
	errno = saved_errno;
	return error;
}
