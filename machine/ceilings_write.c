/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings to JSON, and to their file by way of a temporary one. Called by `brick ceilings`. */
#include "base/date.h"
#include "base/user_path.h"
#include "machine/ceilings_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* json_object_set_new() takes NULL values for errors; one of them makes the whole fail. */
struct builder {
	int failed;
};

static void put(struct builder *b, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		b->failed = 1;
}

static void add(struct builder *b, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		b->failed = 1;
}

/* What is no UTF-8 (a model name from a strange kernel) is not kept. */
static json_t *text(const char *s)
{
	json_t *value = json_string(s);

	return value ? value : json_string("");
}

static void put_figure(struct builder *b, json_t *object, const struct ceilings_figure *figure)
{
	put(b, object, "best", json_real(figure->best));
	put(b, object, "median", json_real(figure->median));
	put(b, object, "worst", json_real(figure->worst));
	put(b, object, "spread", json_real(ceilings_spread(figure)));
	put(b, object, "repetitions", json_integer(figure->count));
}

static json_t *levels(struct builder *b, const struct ceilings *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->level_count; i++) {
		json_t *object = json_object();
		put(b, object, "name", text(c->levels[i].name));
		put(b, object, "bytes",
			c->levels[i].bytes ? json_integer((json_int_t)c->levels[i].bytes)
					   : json_null());
		put(b, object, "cpus", json_integer(c->levels[i].shared));
		add(b, array, object);
	}
	return array;
}

static json_t *compute(struct builder *b, const struct ceilings *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->compute_count; i++) {
		const struct ceilings_compute *row = &c->compute[i];
		json_t *object = json_object();
		put(b, object, "isa", text(row->isa));
		put(b, object, "type", text(row->type));
		put(b, object, "threads", json_integer(row->threads));
		put_figure(b, object, &row->rate);
		add(b, array, object);
	}
	return array;
}

static json_t *bandwidth(struct builder *b, const struct ceilings *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		json_t *object = json_object();
		put(b, object, "level", text(row->level));
		put(b, object, "kernel", text(row->kernel));
		put(b, object, "isa", text(row->isa));
		put(b, object, "threads", json_integer(row->threads));
		put(b, object, "working_set_bytes", json_integer((json_int_t)row->bytes));
		put_figure(b, object, &row->rate);
		add(b, array, object);
	}
	return array;
}

static json_t *latency(struct builder *b, const struct ceilings *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->latency_count; i++) {
		const struct ceilings_latency *row = &c->latency[i];
		json_t *object = json_object();
		put(b, object, "backend", text(row->backend));
		put(b, object, "what", text(row->what));
		put(b, object, "threads", json_integer(row->threads));
		put_figure(b, object, &row->ns);
		add(b, array, object);
	}
	return array;
}

static json_t *missing(struct builder *b, const struct ceilings *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->missing_count; i++) {
		json_t *object = json_object();
		put(b, object, "what", text(c->missing[i].what));
		put(b, object, "reason", text(c->missing[i].reason));
		add(b, array, object);
	}
	return array;
}

static json_t *devices(struct builder *b, const struct ceilings *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->device_count; i++) {
		const struct ceilings_device *device = &c->devices[i];
		json_t *object = json_object();
		put(b, object, "backend", text(device->backend));
		put(b, object, "name", text(device->name));
		put(b, object, "levels", levels(b, &device->can));
		put(b, object, "compute_gops", compute(b, &device->can));
		put(b, object, "bandwidth_gb_per_s", bandwidth(b, &device->can));
		put(b, object, "latency_ns", latency(b, &device->can));
		add(b, array, object);
	}
	return array;
}

static json_t *date(uint64_t unix_ns)
{
	char out[DATE_BYTES];

	return date_text(out, unix_ns, "%Y-%m-%dT%H:%M:%SZ") ? json_string(out) : json_null();
}

char *ceilings_text(const struct ceilings *c)
{
	struct builder b = {0};
	json_t *root = json_object();
	char *out = NULL;

	put(&b, root, "schema", json_string("brick/ceilings/1"));
	put(&b, root, "measured", date(c->unix_ns));
	put(&b, root, "measured_unix_ns", json_integer((json_int_t)c->unix_ns));
	put(&b, root, "took_ns", json_integer((json_int_t)c->took_ns));
	put(&b, root, "host", text(c->host));
	put(&b, root, "cpu", text(c->cpu));
	put(&b, root, "microcode", text(c->microcode));
	put(&b, root, "cpus", json_integer(c->cpus));
	put(&b, root, "most_threads", json_integer(c->most_threads));
	put(&b, root, "quick", json_boolean(c->quick));
	put(&b, root, "levels", levels(&b, c));
	put(&b, root, "compute_gops", compute(&b, c));
	put(&b, root, "bandwidth_gb_per_s", bandwidth(&b, c));
	put(&b, root, "latency_ns", latency(&b, c));
	put(&b, root, "missing", missing(&b, c));
	put(&b, root, "devices", devices(&b, c));
	if (!b.failed)
		out = json_dumps(root, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
	json_decref(root);
	if (!out)
		return NULL;
	size_t length = strlen(out);
	char *longer = realloc(out, length + 2);
	if (!longer) {
		free(out);
		return NULL;
	}
	memcpy(longer + length, "\n", 2);
	return longer;
}

static int write_all(int fd, const char *out, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, out, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		out += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int ceilings_write(const struct ceilings *c, const char *path)
{
	char part[PATH_MAX];
	char *out = ceilings_text(c);
	int n = snprintf(part, sizeof part, "%s.%d.part", path, (int)getpid());

	if (!out || n < 0 || (size_t)n >= sizeof part) {
		free(out);
		return out ? -ENAMETOOLONG : -ENOMEM;
	}
	user_path_make(path);
	unlink(part);
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc = fd < 0 ? -errno : write_all(fd, out, strlen(out));
	if (fd >= 0 && close(fd) < 0 && !rc)
		rc = -errno;
	if (!rc && rename(part, path) < 0)
		rc = -errno;
	if (rc && fd >= 0)
		unlink(part);
	free(out);
	return rc;
}
