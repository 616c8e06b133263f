/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ceilings as JSON and reads them back, both by tables of fields: a new member of a row goes
 * into its table of fields. The reader checks every field, because the file is not trusted. Also
 * here: the path of a host's file, and whether its ceilings still hold.
 */
#include "analysis/machine/ceilings_file.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/file.h"
#include "base/scope.h"
#include "base/user_path.h"
#include "brick/error.h"
#include "brick/export.h"

enum field_kind {
	FIELD_TEXT,  /* char [bytes] */
	FIELD_COUNT, /* uint32_t or uint64_t */
	FIELD_SIZE,  /* as FIELD_COUNT; 0 is null in JSON */
	FIELD_FLAG,  /* bool */
	FIELD_RATE,  /* a figure, whose members are the row's */
	FIELD_TIME,  /* as FIELD_RATE; the smallest is the best */
};

struct field {
	const char *key; /* NULL: behind the last field */
	enum field_kind kind;
	size_t at, bytes;   /* offset and size of the member in the row */
	uint64_t low, high; /* bounds of a count */
};

/* Rows of a kind: a pointer to them and their number are members of struct ceilings. */
struct table {
	const char *name;
	const struct field *fields;
	size_t row_bytes, rows_at, count_at;
	bool is_optional;  /* older files lack the table */
	size_t own_tables; /* each row has a struct ceilings with so many of the first tables */
	size_t own_at;	   /* its offset in the row */
};

#define AT(type, member) .at = offsetof(type, member), .bytes = sizeof(((type *)0)->member)
#define RANGE(least, most) .low = (least), .high = (most)
#define THREADS(type, member) FIELD_COUNT, AT(type, member), RANGE(1, CEILINGS_THREADS)
#define TEXT(type, member) #member, FIELD_TEXT, AT(type, member)
#define ROWS(type, rows, count)                                                       \
	.row_bytes = sizeof(struct type), .rows_at = offsetof(struct ceilings, rows), \
	.count_at = offsetof(struct ceilings, count)

static const struct field level_fields[] = {{TEXT(struct ceilings_level, name)},
	{"bytes", FIELD_SIZE, AT(struct ceilings_level, bytes), RANGE(1, INT64_MAX)},
	{"cpus", THREADS(struct ceilings_level, shared)}, {0}};

static const struct field compute_fields[] = {{TEXT(struct ceilings_compute, isa)},
	{TEXT(struct ceilings_compute, type)},
	{"threads", THREADS(struct ceilings_compute, threads)},
	{"best", FIELD_RATE, AT(struct ceilings_compute, rate)}, {0}};

static const struct field bandwidth_fields[] = {{TEXT(struct ceilings_bandwidth, level)},
	{TEXT(struct ceilings_bandwidth, kernel)}, {TEXT(struct ceilings_bandwidth, isa)},
	{"threads", THREADS(struct ceilings_bandwidth, threads)},
	{"working_set_bytes", FIELD_COUNT, AT(struct ceilings_bandwidth, bytes),
		RANGE(1, INT64_MAX)},
	{"best", FIELD_RATE, AT(struct ceilings_bandwidth, rate)}, {0}};

static const struct field latency_fields[] = {{TEXT(struct ceilings_latency, backend)},
	{TEXT(struct ceilings_latency, what)},
	{"threads", THREADS(struct ceilings_latency, threads)},
	{"best", FIELD_TIME, AT(struct ceilings_latency, ns)}, {0}};

static const struct field usable_fields[] = {{TEXT(struct ceilings_usable, level)},
	{"threads", THREADS(struct ceilings_usable, threads)},
	{"bytes", FIELD_COUNT, AT(struct ceilings_usable, bytes), RANGE(1, INT64_MAX)}, {0}};

static const struct field reached_fields[] = {{TEXT(struct ceilings_reached, level)},
	{TEXT(struct ceilings_reached, brick)}, {TEXT(struct ceilings_reached, recording)},
	{"threads", THREADS(struct ceilings_reached, threads)},
	{"working_set_bytes", FIELD_SIZE, AT(struct ceilings_reached, bytes), RANGE(1, INT64_MAX)},
	{"unix_ns", FIELD_COUNT, AT(struct ceilings_reached, unix_ns), RANGE(0, INT64_MAX)},
	{"best", FIELD_RATE, AT(struct ceilings_reached, rate)}, {0}};

static const struct field missing_fields[] = {
	{TEXT(struct ceilings_missing, what)}, {TEXT(struct ceilings_missing, reason)}, {0}};

static const struct field device_fields[] = {
	{TEXT(struct ceilings_device, backend)}, {TEXT(struct ceilings_device, name)}, {0}};

enum { TABLES_OF_A_DEVICE = 5, TABLES = 9 };

static const struct table ceilings_file_tables[TABLES] = {
	{"levels", level_fields, ROWS(ceilings_level, levels, level_count)},
	{"compute_gops", compute_fields, ROWS(ceilings_compute, compute, compute_count)},
	{"bandwidth_gb_per_s", bandwidth_fields,
		ROWS(ceilings_bandwidth, bandwidth, bandwidth_count)},
	{"latency_ns", latency_fields, ROWS(ceilings_latency, latency, latency_count)},
	{"usable", usable_fields, ROWS(ceilings_usable, usable, usable_count), .is_optional = 1},
	{"reached", reached_fields, ROWS(ceilings_reached, reached, reached_count),
		.is_optional = 1},
	{"products", reached_fields, ROWS(ceilings_reached, products, product_count),
		.is_optional = 1},
	{"missing", missing_fields, ROWS(ceilings_missing, missing, missing_count)},
	{"devices", device_fields, ROWS(ceilings_device, devices, device_count), .is_optional = 1,
		.own_tables = TABLES_OF_A_DEVICE, .own_at = offsetof(struct ceilings_device, can)}};

static const struct field time_fields[] = {
	{"measured_unix_ns", FIELD_COUNT, AT(struct ceilings, unix_ns), RANGE(0, INT64_MAX)},
	{"took_ns", FIELD_COUNT, AT(struct ceilings, took_ns), RANGE(0, INT64_MAX)}, {0}};

static const struct field host_fields[] = {{TEXT(struct ceilings, host)},
	{TEXT(struct ceilings, cpu)}, {TEXT(struct ceilings, microcode)},
	{"cpus", THREADS(struct ceilings, cpus)},
	{"most_threads", THREADS(struct ceilings, most_threads)},
	{"quick", FIELD_FLAG, AT(struct ceilings, quick)}, {0}};

static const char ceilings_file_family[] = "brick/ceilings/", version[] = "1";

/* Reading. */

/* A reader keeps its first error; later reads give nothing. */
struct reader {
	struct ceilings_error *error;
	int rc;
	const char *table; /* being read, for messages */
	size_t row;
};

BRICK_PRINTF(3, 4)
static void ceilings_file_refuse(struct reader *r, int rc, const char *format, ...)
{
	va_list arguments;

	if (r->rc)
		return;
	r->rc = rc;
	va_start(arguments, format);
	vsnprintf(r->error->text, sizeof(r->error->text), format, arguments);
	va_end(arguments);
}

static void refuse_member(struct reader *r, const char *key, const char *what)
{
	if (r->table)
		ceilings_file_refuse(
			r, BRICK_EFORMAT, "%s[%zu]: \"%s\" %s", r->table, r->row, key, what);
	else
		ceilings_file_refuse(r, BRICK_EFORMAT, "\"%s\" %s", key, what);
}

static void ceilings_file_read_text(
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

/* Returns 0 if the value is refused. */
static uint64_t read_count(
	struct reader *r, const json_t *object, const char *key, uint64_t low, uint64_t high)
{
	const json_t *value = json_object_get(object, key);
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0)
		refuse_member(r, key, "must be a whole number");
	else if ((uint64_t)n < low || (uint64_t)n > high)
		refuse_member(r, key, "is out of range");
	return r->rc ? 0 : (uint64_t)n;
}

static double ceilings_file_read_number(struct reader *r, const json_t *object, const char *key)
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
		.best = ceilings_file_read_number(r, object, "best"),
		.median = ceilings_file_read_number(r, object, "median"),
		.worst = ceilings_file_read_number(r, object, "worst"),
		.count = (uint32_t)read_count(r, object, "repetitions", 1, 1000000),
		.second = json_object_get(object, "second")
				  ? ceilings_file_read_number(r, object, "second")
				  : 0,
	};
	double sign = smallest ? -1 : 1;

	if (sign * figure.best < sign * figure.median || sign * figure.median < sign * figure.worst)
		refuse_member(r, "best", "must be no worse than the median, and that than worst");
	return figure;
}

static void read_fields(struct reader *r, const json_t *object, const struct field *f, char *row)
{
	for (; f->key; f++) {
		void *to = row + f->at;
		const json_t *value = json_object_get(object, f->key);
		if (f->kind == FIELD_TEXT)
			ceilings_file_read_text(r, object, f->key, to, f->bytes);
		else if (f->kind == FIELD_FLAG)
			*(bool *)to = json_is_true(value);
		else if (f->kind == FIELD_COUNT ||
			 (f->kind == FIELD_SIZE && !json_is_null(value))) {
			uint64_t n = read_count(r, object, f->key, f->low, f->high);
			if (f->bytes == sizeof(uint32_t))
				*(uint32_t *)to = (uint32_t)n;
			else
				*(uint64_t *)to = n;
		} else if (f->kind == FIELD_RATE || f->kind == FIELD_TIME)
			*(struct ceilings_figure *)to =
				read_figure(r, object, f->kind == FIELD_TIME);
	}
}

/* The array has at most CEILINGS_ROWS objects. NULL: an error, or an optional one is missing. */
static const json_t *ceilings_file_open_table(
	struct reader *r, const json_t *root, const struct table *t)
{
	const json_t *array = json_object_get(root, t->name);

	r->table = NULL;
	if (!array && t->is_optional)
		return NULL;
	if (!json_is_array(array)) {
		refuse_member(r, t->name, "must be a list");
		return NULL;
	}
	if (json_array_size(array) > CEILINGS_ROWS) {
		refuse_member(r, t->name, "has too many rows");
		return NULL;
	}
	r->table = t->name;
	return array;
}

/* The next row, an object; NULL after the last or after an error. */
static const json_t *ceilings_file_next_row(struct reader *r, const json_t *array, size_t row)
{
	r->row = row;
	if (r->rc || row >= json_array_size(array))
		return NULL;
	const json_t *object = json_array_get(array, row);
	if (!json_is_object(object))
		ceilings_file_refuse(r, BRICK_EFORMAT, "%s[%zu] must be an object", r->table, row);
	return r->rc ? NULL : object;
}

static void ceilings_file_read_tables(struct reader *r, const json_t *root, size_t count, char *to)
{
	const json_t *object;

	for (const struct table *t = ceilings_file_tables; t < ceilings_file_tables + count; t++) {
		const json_t *array = ceilings_file_open_table(r, root, t);
		char *rows = array ? calloc(json_array_size(array) + 1, t->row_bytes) : NULL;
		size_t *rows_read = (size_t *)(to + t->count_at);
		memcpy(to + t->rows_at, &rows, sizeof(rows));
		if (array && !rows)
			ceilings_file_refuse(r, -ENOMEM, "not enough memory");
		while ((object = ceilings_file_next_row(r, array, *rows_read))) {
			char *row = rows + t->row_bytes * (*rows_read)++;
			read_fields(r, object, t->fields, row);
			ceilings_file_read_tables(r, object, t->own_tables, row + t->own_at);
			r->table = t->name;
		}
	}
}

static void read_schema(struct reader *r, const json_t *root)
{
	char schema[64] = "";

	ceilings_file_read_text(r, root, "schema", schema, sizeof(schema));
	if (r->rc)
		return;
	if (strncmp(schema, ceilings_file_family, sizeof(ceilings_file_family) - 1))
		ceilings_file_refuse(
			r, BRICK_EFORMAT, "\"schema\" is not %s%s", ceilings_file_family, version);
	else if (strcmp(schema + sizeof(ceilings_file_family) - 1, version))
		ceilings_file_refuse(r, BRICK_EVERSION,
			"\"schema\" is of another version than %s%s", ceilings_file_family,
			version);
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
		snprintf(error->text, sizeof(error->text), "no JSON: %s", json_error.text);
		return BRICK_EFORMAT;
	}
	struct ceilings *c = calloc(1, sizeof(*c));
	if (!c)
		ceilings_file_refuse(&r, -ENOMEM, "not enough memory");
	else if (!json_is_object(root))
		ceilings_file_refuse(&r, BRICK_EFORMAT, "no JSON object");
	else
		read_schema(&r, root);
	if (!r.rc) {
		read_fields(&r, root, host_fields, (char *)c);
		read_fields(&r, root, time_fields, (char *)c);
		ceilings_file_read_tables(&r, root, TABLES, (char *)c);
	}
	json_decref(root);
	if (r.rc)
		ceilings_destroy(c);
	else
		*out = c;
	return r.rc;
}

/* Writing: json_object_set_new() fails on a NULL value, so one failure fails the whole file. */

/* Text that is not UTF-8 is left out; a strange kernel may have such a model name. */
static json_t *ceilings_file_text(const char *s)
{
	json_t *value = json_string(s);

	return value ? value : json_string("");
}

static int put_figure(json_t *object, const struct ceilings_figure *figure)
{
	json_t *spread = figure->count > 1 ? json_real(ceilings_spread(figure)) : json_null();

	json_t *second = figure->second > 0 ? json_real(figure->second) : NULL;

	return json_object_set_new(object, "best", json_real(figure->best)) |
	       (second ? json_object_set_new(object, "second", second) : 0) |
	       json_object_set_new(object, "median", json_real(figure->median)) |
	       json_object_set_new(object, "worst", json_real(figure->worst)) |
	       json_object_set_new(object, "spread", spread) |
	       json_object_set_new(object, "repetitions", json_integer(figure->count));
}

static json_t *ceilings_file_value_of(const struct field *f, const void *from)
{
	if (f->kind == FIELD_TEXT)
		return ceilings_file_text(from);
	if (f->kind == FIELD_FLAG)
		return json_boolean(*(const bool *)from);
	uint64_t n =
		f->bytes == sizeof(uint32_t) ? *(const uint32_t *)from : *(const uint64_t *)from;
	return n || f->kind != FIELD_SIZE ? json_integer((json_int_t)n) : json_null();
}

static int put_fields(json_t *object, const struct field *f, const char *row)
{
	int failed = 0;

	for (; f->key; f++)
		failed |= f->kind == FIELD_RATE || f->kind == FIELD_TIME
				  ? put_figure(object, (const void *)(row + f->at))
				  : json_object_set_new(
					    object, f->key, ceilings_file_value_of(f, row + f->at));
	return failed;
}

static int ceilings_file_put_tables(json_t *root, size_t count, const char *from)
{
	int failed = 0;

	for (const struct table *t = ceilings_file_tables; t < ceilings_file_tables + count; t++) {
		json_t *array = json_array();
		const char *row;
		memcpy(&row, from + t->rows_at, sizeof(row));
		for (size_t n = *(const size_t *)(from + t->count_at); n > 0; n--) {
			json_t *object = json_object();
			failed |= put_fields(object, t->fields, row);
			failed |= ceilings_file_put_tables(object, t->own_tables, row + t->own_at);
			failed |= json_array_append_new(array, object);
			row += t->row_bytes;
		}
		failed |= json_object_set_new(root, t->name, array);
	}
	return failed;
}

static json_t *date(uint64_t unix_ns)
{
	char out[DATE_BYTES];

	return date_text(out, unix_ns, "%Y-%m-%dT%H:%M:%SZ") ? json_string(out) : json_null();
}

char *ceilings_text(const struct ceilings *c)
{
	json_auto_t *root = json_pack("{s:s+ s:o}", "schema", ceilings_file_family, version,
		"measured", date(c->unix_ns));
	char *json = NULL, *out = NULL;

	if (!put_fields(root, time_fields, (const char *)c) &&
		!put_fields(root, host_fields, (const char *)c) &&
		!ceilings_file_put_tables(root, TABLES, (const char *)c))
		json = json_dumps(
			root, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
	if (json && asprintf(&out, "%s\n", json) < 0)
		out = NULL;
	free(json);
	return out;
}

/* Files. */

/* Letters, digits and dots stay; a run of anything else becomes one hyphen. */
static void ceilings_file_plain(char *out, size_t bytes, const char *name)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.";
	size_t n = 0;

	for (; *name && n + 1 < bytes; name++) {
		if (strchr(kept, *name))
			out[n++] = *name;
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	out[n] = '\0';
	if (!n)
		snprintf(out, bytes, "unknown");
}

char *ceilings_cache_path(const char *host, const char *cpu)
{
	char host_part[80], cpu_part[140];

	ceilings_file_plain(host_part, sizeof(host_part), host ? host : "");
	ceilings_file_plain(cpu_part, sizeof(cpu_part), cpu ? cpu : "");
	return user_path(USER_CACHE, "ceilings-%s-%s.json", host_part, cpu_part);
}

const char *ceilings_stale(const struct ceilings *c, const struct cpu_info *cpu)
{
	if (strcmp(c->host, cpu->host))
		return "they are of another host";
	if (strcmp(c->cpu, cpu->model))
		return "the CPU is another one";
	if (strcmp(c->microcode, cpu->microcode))
		return "the CPU's microcode is another one";
	if (c->cpus != cpu->online)
		return "the number of CPUs has changed";
	return NULL;
}

int ceilings_read(struct ceilings **out, const char *path, struct ceilings_error *error)
{
	enum { MAX_BYTES = 16 << 20 };
	char *text = NULL;
	size_t bytes = 0;
	int rc = file_read(&text, &bytes, path, MAX_BYTES);

	if (rc) {
		*error = (struct ceilings_error){0};
		snprintf(error->text, sizeof(error->text), "%s", strerror(-rc));
		return rc;
	}
	rc = ceilings_parse(out, text, bytes, error);
	free(text);
	return rc;
}

int ceilings_write(const struct ceilings *c, const char *path)
{
	SCOPED char *text = ceilings_text(c);

	user_path_make(path);
	return text ? file_replace(path, text) : -ENOMEM;
}
