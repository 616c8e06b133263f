/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites and kernels of recordings before version 3, where they are flat JSON objects: text,
 * integers, true and lists of integers are values. Reading ends at the first thing that is
 * something else. Unknown members are skipped.
 */
#include "trace/load_json.h"
#include <stdlib.h>
#include <string.h>
#include "format/format.h"

struct json {
	const char *at, *end;
};

struct json_value {
	char *text; /* owned by the reader until taken; NULL: no text */
	int64_t number;
	uint64_t count;	  /* the number, when it is not negative */
	uint64_t list[3]; /* the first numbers of a list */
	bool is_true;
};

/* Blanks, then that character; 0: something else stands there. */
static bool load_json_skip(struct json *j, char wanted)
{
	while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
		j->at++;
	if (j->at == j->end || *j->at != wanted)
		return false;
	j->at++;
	return true;
}

static bool load_json_hex4(const char *s, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, s[i] | 0x20);
		if (!s[i] || !d || !*d)
			return false;
		*code = *code << 4 | (uint32_t)(d - digits);
	}
	return true;
}

/* One escaped character; those that Brick does not write become '?'. */
static bool load_json_escaped(struct json *j, char *to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	uint32_t code;

	if (j->at == j->end)
		return false;
	char c = *j->at++;
	const char *known = c ? strchr(names, c) : NULL;
	if (known) {
		*to = values[known - names];
		return true;
	}
	if (c != 'u' || j->end - j->at < 4 || !load_json_hex4(j->at, &code))
		return false;
	j->at += 4;
	*to = code && code < 0x80 ? (char)code : '?';
	return true;
}

static bool load_json_read_text(struct json *j, char **out)
{
	size_t size = 0;
	char *text = load_json_skip(j, '"') ? malloc((size_t)(j->end - j->at) + 1) : NULL;

	if (!text)
		return false;
	while (j->at < j->end && *j->at != '"') {
		char c = *j->at++;
		if (c == '\\' && !load_json_escaped(j, &c)) {
			free(text);
			return false;
		}
		text[size++] = c;
	}
	text[size] = 0;
	if (!load_json_skip(j, '"')) {
		free(text);
		return false;
	}
	*out = text;
	return true;
}

static bool load_json_read_number(struct json *j, struct json_value *value)
{
	bool negative = load_json_skip(j, '-');
	int digits = 0;

	for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; digits++)
		value->count = value->count * 10 + (uint64_t)(*j->at++ - '0');
	value->number = negative ? -(int64_t)(value->count & INT64_MAX)
				 : (int64_t)(value->count & INT64_MAX);
	return digits > 0 && digits <= 20;
}

/* The first numbers are kept. */
static bool load_json_read_list(struct json *j, struct json_value *value)
{
	const size_t most = sizeof(value->list) / sizeof(*value->list);
	size_t count = 0;

	do {
		struct json_value item = {0};
		if (!load_json_read_number(j, &item))
			return false;
		if (count < most)
			value->list[count++] = item.count;
	} while (load_json_skip(j, ','));
	return load_json_skip(j, ']');
}

static bool read_json_value(struct json *j, struct json_value *value)
{
	memset(value, 0, sizeof(*value));
	if (j->at < j->end && *j->at == '"')
		return load_json_read_text(j, &value->text);
	if (load_json_skip(j, '['))
		return load_json_read_list(j, value);
	if (j->end - j->at >= 4 && !memcmp(j->at, "true", 4)) {
		value->is_true = true;
		j->at += 4;
		return true;
	}
	return load_json_read_number(j, value);
}

/* Moves the value's text, or NULL, to *text, in place of the former one. */
static void load_json_take(char **text, struct json_value *value)
{
	free(*text);
	*text = value->text;
	value->text = NULL;
}

/* Takes one member of an object; its text is freed unless taken. */
typedef void (*member_fn)(void *to, const char *key, struct json_value *value);

static bool load_json_read_member(struct json *j, member_fn member, void *to)
{
	struct json_value value;
	char *key;

	if (!load_json_read_text(j, &key))
		return false;
	bool good = load_json_skip(j, ':') && read_json_value(j, &value);
	if (good) {
		member(to, key, &value);
		free(value.text);
	}
	free(key);
	return good;
}

static bool load_json_read_object(struct json *j, member_fn member, void *to)
{
	bool good = load_json_skip(j, '{') && load_json_read_member(j, member, to);

	while (good && load_json_skip(j, ','))
		good = load_json_read_member(j, member, to);
	return good && load_json_skip(j, '}');
}

static void load_json_set_site_member(void *to, const char *key, struct json_value *value)
{
	struct run_site *site = to;

	if (!strcmp(key, "layer"))
		site->layer = (int32_t)value->number;
	else if (!strcmp(key, "op"))
		load_json_take(&site->operation, value);
	else if (!strcmp(key, "tensor"))
		load_json_take(&site->label, value);
	else if (!strcmp(key, "elements"))
		load_site_count(site, &site->elements, BRICK_SITE_HAS_ELEMENTS, value->count);
	else if (!strcmp(key, "bytes"))
		load_site_count(site, &site->bytes, BRICK_SITE_HAS_BYTES, value->count);
	else if (!strcmp(key, "flops"))
		load_site_count(site, &site->flops, BRICK_SITE_HAS_FLOPS, value->count);
	else if (!strcmp(key, "unknown") && value->is_true)
		site->flags |= BRICK_SITE_UNKNOWN_OPERATION;
	else if (!strcmp(key, "at_most") && value->is_true)
		site->flags |= BRICK_SITE_AT_MOST;
}

bool load_json_site(struct pb_reader text, struct run_site *site)
{
	struct json j = {(const char *)text.at, (const char *)text.end};

	*site = (struct run_site){.brick = RUN_NONE, .layer = -1};
	if (load_json_read_object(&j, load_json_set_site_member, site))
		return true;
	free(site->operation);
	free(site->label);
	return false;
}

static void load_json_take_triple(uint32_t *triple, const struct json_value *value)
{
	for (int i = 0; i < 3; i++)
		triple[i] = value->list[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)value->list[i];
}

static uint32_t load_json_kind_named(const char *name)
{
	static const char *const kinds[] = FORMAT_KERNEL_KINDS;

	for (uint32_t i = 0; name && i < FORMAT_KERNEL_KIND_COUNT; i++)
		if (!strcmp(name, kinds[i]))
			return i;
	return BRICK_KERNEL_OTHER;
}

static void load_json_set_kernel_member(void *to, const char *key, struct json_value *value)
{
	struct run_kernel *kernel = to;

	if (!strcmp(key, "name"))
		load_json_take(&kernel->name, value);
	else if (!strcmp(key, "backend"))
		load_json_take(&kernel->backend, value);
	else if (!strcmp(key, "kind"))
		kernel->kind = load_json_kind_named(value->text);
	else if (!strcmp(key, "grid"))
		load_json_take_triple(kernel->grid, value);
	else if (!strcmp(key, "block"))
		load_json_take_triple(kernel->block, value);
	else if (!strcmp(key, "shared"))
		kernel->shared_bytes = value->count;
	else if (!strcmp(key, "registers"))
		kernel->registers = (uint32_t)value->count;
	else if (!strcmp(key, "code") && value->text)
		kernel->code = strtoull(value->text, NULL, 16);
}

bool load_json_kernel(struct pb_reader text, struct run_kernel *kernel)
{
	struct json j = {(const char *)text.at, (const char *)text.end};

	*kernel = (struct run_kernel){.kind = BRICK_KERNEL_OTHER};
	if (load_json_read_object(&j, load_json_set_kernel_member, kernel) && kernel->name)
		return true;
	free(kernel->name);
	free(kernel->backend);
	return false;
}
