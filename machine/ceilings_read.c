/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings from JSON that nobody vouches for: every member is checked for type and range before it
 * is used, and what is wrong is named by its place. Called by the commands.
 */
#include "base/file.h"
#include "machine/ceilings_file.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "brick/export.h"

enum { MAX_BYTES = 16 << 20 };

/* The first error is kept; later reads then give nothing. */
struct reader {
	struct ceilings_error *error;
	int rc;
	const char *table; /* being read, for messages */
	size_t row;
};

static void refuse(struct reader *r, int rc, const char *format, ...) BRICK_PRINTF(3, 4);

static void refuse(struct reader *r, int rc, const char *format, ...)
{
	va_list arguments;

	if (r->rc)
		return;
	r->rc = rc;
	va_start(arguments, format);
	vsnprintf(r->error->text, sizeof r->error->text, format, arguments);
	va_end(arguments);
}

static void refuse_member(struct reader *r, const char *key, const char *what)
{
	if (r->table)
		refuse(r, BRICK_EFORMAT, "%s[%zu]: \"%s\" %s", r->table, r->row, key, what);
	else
		refuse(r, BRICK_EFORMAT, "\"%s\" %s", key, what);
}

static void read_text(
	struct reader *r, const json_t *object, const char *key, char *out, size_t bytes)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_string(value))
		refuse_member(r, key, "must be a string");
	else if (json_string_length(value) >= bytes)
		refuse_member(r, key, "is too long");
	else if (strlen(json_string_value(value)) != json_string_length(value))
		refuse_member(r, key, "holds a NUL");
	else
		memcpy(out, json_string_value(value), json_string_length(value) + 1);
}

static uint64_t read_count(
	struct reader *r, const json_t *object, const char *key, uint64_t low, uint64_t high)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0) {
		refuse_member(r, key, "must be a whole number");
		return low;
	}
	uint64_t n = (uint64_t)json_integer_value(value);
	if (n < low || n > high) {
		refuse_member(r, key, "is out of range");
		return low;
	}
	return n;
}

static double read_number(struct reader *r, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	double n = json_is_number(value) ? json_number_value(value) : -1;

	if (!(n > 0) || !isfinite(n) || n > 1e15)
		refuse_member(r, key, "must be a number above 0 and not absurd");
	return n;
}

static struct ceilings_figure read_figure(struct reader *r, const json_t *object, int smallest)
{
	struct ceilings_figure figure = {
		.best = read_number(r, object, "best"),
		.median = read_number(r, object, "median"),
		.worst = read_number(r, object, "worst"),
		.count = (uint32_t)read_count(r, object, "repetitions", 1, 1000000),
	};
	double sign = smallest ? -1 : 1;

	if (sign * figure.best < sign * figure.median || sign * figure.median < sign * figure.worst)
		refuse_member(r, "best", "must be no worse than the median, and that than worst");
	return figure;
}

/* The array of that name with at most CEILINGS_ROWS objects. NULL: an error. */
static const json_t *open_table(struct reader *r, const json_t *root, const char *name)
{
	const json_t *array = json_object_get(root, name);

	r->table = NULL;
	if (!json_is_array(array)) {
		refuse_member(r, name, "must be a list");
		return NULL;
	}
	if (json_array_size(array) > CEILINGS_ROWS) {
		refuse_member(r, name, "has too many rows");
		return NULL;
	}
	r->table = name;
	return array;
}

/* Memory for the rows of a table. NULL: an error, or there is no table. */
static void *make_rows(struct reader *r, const json_t *array, size_t row_bytes)
{
	void *rows = array ? calloc(json_array_size(array) + 1, row_bytes) : NULL;

	if (array && !rows)
		refuse(r, -ENOMEM, "not enough memory");
	return rows;
}

/* The next row, an object; NULL after the last or after an error. */
static const json_t *next_row(struct reader *r, const json_t *array, size_t row)
{
	r->row = row;
	if (r->rc || row >= json_array_size(array))
		return NULL;
	const json_t *object = json_array_get(array, row);
	if (!json_is_object(object))
		refuse(r, BRICK_EFORMAT, "%s[%zu] must be an object", r->table, row);
	return r->rc ? NULL : object;
}

static uint32_t read_threads(struct reader *r, const json_t *object)
{
	return (uint32_t)read_count(r, object, "threads", 1, CEILINGS_THREADS);
}

static void read_levels(struct reader *r, const json_t *root, struct ceilings *c)
{
	const json_t *array = open_table(r, root, "levels");
	const json_t *object;

	c->levels = make_rows(r, array, sizeof *c->levels);
	while ((object = next_row(r, array, c->level_count))) {
		struct ceilings_level *level = &c->levels[c->level_count++];
		read_text(r, object, "name", level->name, sizeof level->name);
		if (!json_is_null(json_object_get(object, "bytes")))
			level->bytes = read_count(r, object, "bytes", 1, INT64_MAX);
		level->shared = (uint32_t)read_count(r, object, "cpus", 1, CEILINGS_THREADS);
	}
}

static void read_compute(struct reader *r, const json_t *root, struct ceilings *c)
{
	const json_t *array = open_table(r, root, "compute_gops");
	const json_t *object;

	c->compute = make_rows(r, array, sizeof *c->compute);
	while ((object = next_row(r, array, c->compute_count))) {
		struct ceilings_compute *row = &c->compute[c->compute_count++];
		read_text(r, object, "isa", row->isa, sizeof row->isa);
		read_text(r, object, "type", row->type, sizeof row->type);
		row->threads = read_threads(r, object);
		row->rate = read_figure(r, object, 0);
	}
}

static void read_bandwidth(struct reader *r, const json_t *root, struct ceilings *c)
{
	const json_t *array = open_table(r, root, "bandwidth_gb_per_s");
	const json_t *object;

	c->bandwidth = make_rows(r, array, sizeof *c->bandwidth);
	while ((object = next_row(r, array, c->bandwidth_count))) {
		struct ceilings_bandwidth *row = &c->bandwidth[c->bandwidth_count++];
		read_text(r, object, "level", row->level, sizeof row->level);
		read_text(r, object, "kernel", row->kernel, sizeof row->kernel);
		read_text(r, object, "isa", row->isa, sizeof row->isa);
		row->threads = read_threads(r, object);
		row->bytes = read_count(r, object, "working_set_bytes", 1, INT64_MAX);
		row->rate = read_figure(r, object, 0);
	}
}

static void read_latency(struct reader *r, const json_t *root, struct ceilings *c)
{
	const json_t *array = open_table(r, root, "latency_ns");
	const json_t *object;

	c->latency = make_rows(r, array, sizeof *c->latency);
	while ((object = next_row(r, array, c->latency_count))) {
		struct ceilings_latency *row = &c->latency[c->latency_count++];
		read_text(r, object, "backend", row->backend, sizeof row->backend);
		read_text(r, object, "what", row->what, sizeof row->what);
		row->threads = read_threads(r, object);
		row->ns = read_figure(r, object, 1);
	}
}

/* Files from before there were any have none. */
static void read_devices(struct reader *r, const json_t *root, struct ceilings *c)
{
	const json_t *array = json_object_get(root, "devices");
	const json_t *object;

	if (!array)
		return;
	array = open_table(r, root, "devices");
	c->devices = make_rows(r, array, sizeof *c->devices);
	while ((object = next_row(r, array, c->device_count))) {
		struct ceilings_device *device = &c->devices[c->device_count++];
		read_text(r, object, "backend", device->backend, sizeof device->backend);
		read_text(r, object, "name", device->name, sizeof device->name);
		read_levels(r, object, &device->can);
		read_compute(r, object, &device->can);
		read_bandwidth(r, object, &device->can);
		read_latency(r, object, &device->can);
		r->table = "devices";
	}
}

static void read_missing(struct reader *r, const json_t *root, struct ceilings *c)
{
	const json_t *array = open_table(r, root, "missing");
	const json_t *object;

	c->missing = make_rows(r, array, sizeof *c->missing);
	while ((object = next_row(r, array, c->missing_count))) {
		struct ceilings_missing *row = &c->missing[c->missing_count++];
		read_text(r, object, "what", row->what, sizeof row->what);
		read_text(r, object, "reason", row->reason, sizeof row->reason);
	}
}

static void read_schema(struct reader *r, const json_t *root)
{
	char schema[64] = "";
	static const char family[] = "brick/ceilings/";

	read_text(r, root, "schema", schema, sizeof schema);
	if (r->rc)
		return;
	if (strncmp(schema, family, sizeof family - 1))
		refuse(r, BRICK_EFORMAT, "\"schema\" is not brick/ceilings/1");
	else if (strcmp(schema + sizeof family - 1, "1"))
		refuse(r, BRICK_EVERSION, "\"schema\" is of another version than brick/ceilings/1");
}

static void read_root(struct reader *r, const json_t *root, struct ceilings *c)
{
	read_schema(r, root);
	if (r->rc)
		return;
	read_text(r, root, "host", c->host, sizeof c->host);
	read_text(r, root, "cpu", c->cpu, sizeof c->cpu);
	read_text(r, root, "microcode", c->microcode, sizeof c->microcode);
	c->unix_ns = read_count(r, root, "measured_unix_ns", 0, INT64_MAX);
	c->took_ns = read_count(r, root, "took_ns", 0, INT64_MAX);
	c->cpus = (uint32_t)read_count(r, root, "cpus", 1, CEILINGS_THREADS);
	c->most_threads = (uint32_t)read_count(r, root, "most_threads", 1, CEILINGS_THREADS);
	c->quick = json_is_true(json_object_get(root, "quick"));
	read_levels(r, root, c);
	read_compute(r, root, c);
	read_bandwidth(r, root, c);
	read_latency(r, root, c);
	read_missing(r, root, c);
	read_devices(r, root, c);
}

int ceilings_parse(
	struct ceilings **out, const char *text, size_t bytes, struct ceilings_error *error)
{
	struct reader r = {.error = error};
	json_error_t json_error;

	*error = (struct ceilings_error){0};
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &json_error);
	if (!root) {
		error->offset = json_error.position > 0 ? (size_t)json_error.position : 0;
		snprintf(error->text, sizeof error->text, "no JSON: %s", json_error.text);
		return BRICK_EFORMAT;
	}
	struct ceilings *c = calloc(1, sizeof *c);
	if (!c)
		refuse(&r, -ENOMEM, "not enough memory");
	else if (!json_is_object(root))
		refuse(&r, BRICK_EFORMAT, "no JSON object");
	else
		read_root(&r, root, c);
	json_decref(root);
	if (r.rc)
		ceilings_destroy(c);
	else
		*out = c;
	return r.rc;
}

int ceilings_read(struct ceilings **out, const char *path, struct ceilings_error *error)
{
	char *text = NULL;
	size_t bytes = 0;
	int rc = file_read(&text, &bytes, path, MAX_BYTES);

	if (rc) {
		*error = (struct ceilings_error){0};
		snprintf(error->text, sizeof error->text, "%s", strerror(-rc));
		return rc;
	}
	rc = ceilings_parse(out, text, bytes, error);
	free(text);
	return rc;
}
