/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the JSON objects that stand for sites and kernels. */
#include "trace/load_json.h"

#include <stdlib.h>
#include <string.h>

/* Blanks, then that character; 0: something else stands there. */
static int load_json_skip(struct load_json *j, char wanted)
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
static int escaped(struct load_json *j, char *to)
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

static int load_json_text(struct load_json *j, char **out)
{
	size_t size = 0;
	char *text = load_json_skip(j, '"') ? malloc((size_t)(j->end - j->at) + 1) : NULL;

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
	if (!load_json_skip(j, '"')) {
		free(text);
		return 0;
	}
	*out = text;
	return 1;
}

static int read_number(struct load_json *j, struct load_json_value *value)
{
	int negative = load_json_skip(j, '-'), digits = 0;

	for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; digits++)
		value->count = value->count * 10 + (uint64_t)(*j->at++ - '0');
	value->number = negative ? -(int64_t)(value->count & INT64_MAX)
				 : (int64_t)(value->count & INT64_MAX);
	return digits > 0 && digits <= 20;
}

/* The first numbers are kept. */
static int read_list(struct load_json *j, struct load_json_value *value)
{
	const size_t most = sizeof value->list / sizeof *value->list;
	size_t count = 0;

	do {
		struct load_json_value item = {0};
		if (!read_number(j, &item))
			return 0;
		if (count < most)
			value->list[count++] = item.count;
	} while (load_json_skip(j, ','));
	return load_json_skip(j, ']');
}

int load_json_value(struct load_json *j, struct load_json_value *value)
{
	memset(value, 0, sizeof *value);
	if (j->at < j->end && *j->at == '"')
		return load_json_text(j, &value->text);
	if (load_json_skip(j, '['))
		return read_list(j, value);
	if (j->end - j->at >= 4 && !memcmp(j->at, "true", 4)) {
		value->is_true = 1;
		j->at += 4;
		return 1;
	}
	return read_number(j, value);
}

void load_json_take(char **text, struct load_json_value *value)
{
	free(*text);
	*text = value->text;
	value->text = NULL;
}

static int read_member(struct load_json *j, load_json_member_fn member, void *to)
{
	struct load_json_value value;
	char *key;

	if (!load_json_text(j, &key))
		return 0;
	int good = load_json_skip(j, ':') && load_json_value(j, &value);
	if (good) {
		member(to, key, &value);
		free(value.text);
	}
	free(key);
	return good;
}

int load_json_object(struct load_json *j, load_json_member_fn member, void *to)
{
	int good = load_json_skip(j, '{') && read_member(j, member, to);

	while (good && load_json_skip(j, ','))
		good = read_member(j, member, to);
	return good && load_json_skip(j, '}');
}
