/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing an execution graph: the choice of the format, and files that appear under their name when
 * they are whole.
 */
#include "lib/graph/graph_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/scope.h"
#include "brick/graph_path.h"

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

static int graph_write_stream(void *context, const char *data, size_t bytes)
{
	return fwrite(data, 1, bytes, context) == bytes ? 0 : -EIO;
}

int brick_graph_print(struct brick_graph *graph, int format, FILE *out)
{
	KEEP_ERRNO();

	if (!graph || !out)
		return -EINVAL;
	int error = brick_graph_write(graph, format, graph_write_stream, out);
	return error < 0 ? error : fflush(out) || ferror(out) ? -EIO : 0;
}

struct path_line {
	uint32_t node;
	struct brick_graph_times times;
	bool is_shown;
};

static int longer_first(const void *a, const void *b)
{
	const struct path_line *left = *(struct path_line *const *)a,
			       *right = *(struct path_line *const *)b;

	if (left->times.own_ns != right->times.own_ns)
		return left->times.own_ns < right->times.own_ns ? 1 : -1;
	return left < right ? -1 : 1;
}

static int read_path(struct brick_graph *graph, const struct brick_graph_path *path, size_t rows,
	struct path_line *lines, struct path_line **order)
{
	for (size_t i = 0; i < path->count; i++) {
		lines[i] = (struct path_line){path->nodes[i], BRICK_GRAPH_TIMES_INIT, false};
		int error = brick_graph_times_get(graph, path->nodes[i], &lines[i].times);
		if (error < 0)
			return error;
		order[i] = &lines[i];
	}
	qsort(order, path->count, sizeof(struct path_line *), longer_first);
	for (size_t i = 0; i < path->count && (!rows || i < rows); i++)
		order[i]->is_shown = true;
	return 0;
}

/* "       0ns  200µs  QkvProjection": when it begins, its own time, its name. */
static int put_path_line(
	struct brick__sink *sink, struct brick_graph *graph, const struct path_line *line)
{
	static const struct brick__escape plain = {"", NULL, "\\x"};
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
	int error = brick_graph_node_get(graph, line->node, &node);

	if (error < 0)
		return error;
	brick__put(sink, "  ");
	brick__put_time(sink, line->times.begin_ns);
	brick__put(sink, "  ");
	brick__put_time(sink, line->times.own_ns);
	brick__put(sink, "  ");
	brick__put_text(sink, node.name, &plain);
	if (node.flags & BRICK_NODE_HAS_LAYER) {
		brick__put(sink, "  layer ");
		brick__put_i64(sink, node.layer);
	}
	brick__put(sink, "\n");
	return 0;
}

int brick_graph_path_print(struct brick_graph *graph, size_t rows, FILE *out)
{
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	struct brick__sink sink = {.write = graph_write_stream, .context = out};
	KEEP_ERRNO();

	int error = graph && out ? brick_graph_critical_path(graph, &path) : -EINVAL;
	if (error < 0)
		return error;
	SCOPED struct path_line *lines = malloc((path.count + 1) * sizeof(*lines));
	SCOPED struct path_line **order = malloc((path.count + 1) * sizeof(*order));
	error = lines && order ? read_path(graph, &path, rows, lines, order) : -ENOMEM;
	if (error < 0)
		return error;
	brick__put(&sink, "Critical path  ");
	brick__put_time(&sink, path.length_ns);
	brick__put_key_u64(&sink, ", nodes ", path.count);
	brick__put(&sink, "\n  BEGIN  OWN  NODE\n");
	for (size_t i = 0; i < path.count && !error; i++)
		if (lines[i].is_shown)
			error = put_path_line(&sink, graph, &lines[i]);
	int failed = brick__flush(&sink);
	error = error < 0 ? error : failed;
	return error < 0 ? error : fflush(out) || ferror(out) ? -EIO : 0;
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

static int graph_write_file(struct brick_graph *graph, int format, int fd)
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

static int graph_write_save(struct brick_graph *graph, int format, const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* a pipe or a device, as it is */
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : graph_write_file(graph, format, fd);
	}
	int fd = open_beside(path, name);
	if (fd < 0)
		return fd;
	int error = graph_write_file(graph, format, fd);
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
	int error = graph_write_save(graph, format, path);
	errno = saved_errno;
	return error;
}
