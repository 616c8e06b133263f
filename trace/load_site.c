/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON object that stands for a site: flat, with text, integers and true as values. Others'
 * members are skipped, so that later writers may add some.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_state.h"

struct json {
	const char *at, *end;
};

struct json_value {
	char *text; /* owned by the reader of values until taken; NULL: not text */
	int64_t number;
	uint64_t count; /* the number, when it is not negative */
	int is_true;
};

static int skip_to(struct json *j, char wanted)
{
	while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
		j->at++;
	if (j->at == j->end || *j->at != wanted)
		return 0;
	j->at++;
	return 1;
}

static int hex4(const char *s, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, s[i] | 0x20);
		if (!s[i] || !d || !*d)
			return 0;
		*code = *code << 4 | (uint32_t)(d - digits);
	}
	return 1;
}

/* One escaped character; those that Brick does not write become '?'. */
static int escaped(struct json *j, char *to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	uint32_t code;

	if (j->at == j->end)
		return 0;
	char c = *j->at++;
	const char *known = c ? strchr(names, c) : NULL;
	if (known) {
		*to = values[known - names];
		return 1;
	}
	if (c != 'u' || j->end - j->at < 4 || !hex4(j->at, &code))
		return 0;
	j->at += 4;
	*to = code && code < 0x80 ? (char)code : '?';
	return 1;
}

static int read_text(struct json *j, char **out)
{
	size_t size = 0;
	char *text = skip_to(j, '"') ? malloc((size_t)(j->end - j->at) + 1) : NULL;

	if (!text)
		return 0;
	while (j->at < j->end && *j->at != '"') {
		char c = *j->at++;
		if (c == '\\' && !escaped(j, &c)) {
			free(text);
			return 0;
		}
		text[size++] = c;
	}
	text[size] = 0;
	if (!skip_to(j, '"')) {
		free(text);
		return 0;
	}
	*out = text;
	return 1;
}

static int read_number(struct json *j, struct json_value *value)
{
	int negative = skip_to(j, '-'), digits = 0;

	for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; digits++)
		value->count = value->count * 10 + (uint64_t)(*j->at++ - '0');
	value->number = negative ? -(int64_t)(value->count & INT64_MAX)
				 : (int64_t)(value->count & INT64_MAX);
	return digits > 0 && digits <= 20;
}

static int read_value(struct json *j, struct json_value *value)
{
	memset(value, 0, sizeof *value);
	if (j->at < j->end && *j->at == '"')
		return read_text(j, &value->text);
	if (j->end - j->at >= 4 && !memcmp(j->at, "true", 4)) {
		value->is_true = 1;
		j->at += 4;
		return 1;
	}
	return read_number(j, value);
}

static void set_count(struct run_site *site, uint64_t *member, uint32_t flag, uint64_t count)
{
	*member = count;
	site->flags |= flag;
}

static void take_text(char **member, struct json_value *value)
{
	free(*member);
	*member = value->text;
	value->text = NULL;
}

static void set_member(struct run_site *site, const char *key, struct json_value *value)
{
	if (!strcmp(key, "layer"))
		site->layer = (int32_t)value->number;
	else if (!strcmp(key, "op"))
		take_text(&site->operation, value);
	else if (!strcmp(key, "tensor"))
		take_text(&site->label, value);
	else if (!strcmp(key, "elements"))
		set_count(site, &site->elements, BRICK_SITE_HAS_ELEMENTS, value->count);
	else if (!strcmp(key, "bytes"))
		set_count(site, &site->bytes, BRICK_SITE_HAS_BYTES, value->count);
	else if (!strcmp(key, "flops"))
		set_count(site, &site->flops, BRICK_SITE_HAS_FLOPS, value->count);
	else if (!strcmp(key, "unknown") && value->is_true)
		site->flags |= BRICK_SITE_UNKNOWN_OPERATION;
	free(value->text);
}

static int read_member(struct json *j, struct run_site *site)
{
	struct json_value value;
	char *key;

	if (!read_text(j, &key))
		return 0;
	int good = skip_to(j, ':') && read_value(j, &value);
	if (good)
		set_member(site, key, &value);
	free(key);
	return good;
}

int load_site_json(struct pb_reader text, struct run_site *site)
{
	struct json j = {(const char *)text.at, (const char *)text.end};

	*site = (struct run_site){.brick = RUN_NONE, .layer = -1};
	int good = skip_to(&j, '{') && read_member(&j, site);
	while (good && skip_to(&j, ','))
		good = read_member(&j, site);
	if (good && skip_to(&j, '}'))
		return 1;
	free(site->operation);
	free(site->label);
	return 0;
}
