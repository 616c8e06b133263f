/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window moves when its end is reached: bytes before the next one, or before the value that is
 * being loaded, are dropped. A loaded value is an array of its values in the order of the text,
 * which point into the window. Texts get their ends, and lose their escapes, in place.
 */
#include "import/json_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "brick/error.h"
#include "base/utf8.h"

enum {
	WINDOW_BYTES = 1 << 18,
	MOST_BYTES = 1 << 30,  /* of a value that is loaded */
	MOST_VALUES = 1 << 22, /* in it */
	BEHIND = 8,	       /* bytes of 0 behind the window: texts are read in words */
	LONGEST_NUMBER = 4096, /* in bytes */
};

/* The word has a set bit for each byte of it that is 0: the highest of that byte. */
static uint64_t json_zeros(uint64_t word)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7full;

	return ~(((word & low) + low) | word | low);
}

static uint64_t json_word(const char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static size_t json_lines(const char *from, const char *to)
{
	const uint64_t ones = 0x0101010101010101ull, line_ends = ones * '\n';
	size_t lines = 0;

	for (; to - from >= 8; from += 8)
		lines += (json_zeros(json_word(from) ^ line_ends) >> 7) * ones >> 56;
	for (; from < to; from++)
		lines += *from == '\n';
	return lines;
}

static int reader_fail_here(const struct json_reader *r, const char *place, const char *why)
{
	/* what lies before `counted` was loaded, and may have lost its escapes */
	size_t lines =
		place < r->counted ? r->loaded_lines : r->lines + json_lines(r->counted, place);

	snprintf(r->error->text, sizeof(r->error->text), "line %zu, byte %zu: %s", lines + 1,
		r->base + (size_t)(place - r->window), why);
	return BRICK_EFORMAT;
}

int reader_fail(const struct json_reader *r, const char *why)
{
	return reader_fail_here(r, r->at,
		r->at == r->end ? "the file ends here, in the middle of what it says" : why);
}

int reader_fail_loaded(const struct json_reader *r, const char *why)
{
	const struct json_value *value = r->values.items;

	/* a text begins behind its quote */
	return reader_fail_here(r, value->text - (value->kind == VALUE_TEXT), why);
}

void reader_init(
	struct json_reader *r, const struct import_source *source, struct import_error *error)
{
	static char none[1] = "";

	r->name = "";
	r->source = source;
	r->error = error;
	r->window = r->counted = r->end = r->at = none;
	r->kept = NULL;
	r->capacity = r->base = r->lines = r->loaded_lines = 0;
	memset(&r->values, 0, sizeof(r->values));
	r->has_escapes = false;
}

void reader_fini(struct json_reader *r)
{
	if (r->capacity)
		free(r->window);
	array_fini(&r->values);
}

/* Moves the bytes from `from` on to the begin of a window that has room for as many. */
static int reader_move(struct json_reader *r, char *from)
{
	size_t bytes = (size_t)(r->end - from), capacity = r->capacity;
	char *to = r->window;

	if (bytes > MOST_BYTES)
		return reader_fail_here(r, from, "the value is longer than 1 GiB");
	r->lines += json_lines(r->counted, from);
	r->base += (size_t)(from - r->window);
	if (!capacity || bytes > capacity / 2) {
		capacity = capacity	       ? 2 * capacity
			   : r->source->window ? r->source->window
					       : WINDOW_BYTES;
		to = malloc(capacity + BEHIND);
		if (!to)
			return -ENOMEM;
	}
	memmove(to, from, bytes);
	for (size_t i = 0; i < r->values.count && r->kept; i++) {
		struct json_value *v = &r->values.items[i];
		v->text = v->text ? to + (v->text - from) : NULL;
		v->key = v->key ? to + (v->key - from) : NULL;
	}
	r->at = to + (r->at - from);
	r->end = to + bytes;
	r->kept = r->kept ? to : NULL;
	if (to != r->window && r->capacity)
		free(r->window);
	r->window = r->counted = to;
	r->capacity = capacity;
	return 0;
}

/* Reads more behind `end`. 0, also where the file ends, or an error. */
static int reader_fill(struct json_reader *r)
{
	if (!r->source)
		return 0;
	size_t room = r->capacity - (size_t)(r->end - r->window);
	if (!room) {
		int error = reader_move(r, r->kept ? r->kept : r->at);
		if (error)
			return error;
		room = r->capacity - (size_t)(r->end - r->window);
	}
	int got = r->source->read(r->source->from, r->end, room);
	if (got < 0)
		return reader_fail_here(r, r->end,
			"what follows cannot be unpacked: the file is damaged or cut off");
	r->end += got;
	memset(r->end, 0, BEHIND);
	if (!got)
		r->source = NULL;
	return 0;
}

static int reader_skip_blanks(struct json_reader *r)
{
	for (;;) {
		while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')
			r->at++;
		if (r->at < r->end || !r->source)
			return 0;
		int error = reader_fill(r);
		if (error)
			return error;
	}
}

/* Makes so many bytes available at r->at, unless the file ends before. */
static int reader_want(struct json_reader *r, size_t bytes)
{
	while ((size_t)(r->end - r->at) < bytes && r->source) {
		int error = reader_fill(r);
		if (error)
			return error;
	}
	return 0;
}

/* The number of bytes before the first one that is no plain character of a text. */
static size_t json_plain(const char *text)
{
	const uint64_t high = 0x8080808080808080ull, ones = 0x0101010101010101ull;
	size_t n = 0;

	for (;; n += 8) {
		uint64_t word = json_word(text + n);
		uint64_t special = json_zeros(word ^ ones * '"') | json_zeros(word ^ ones * '\\') |
				   (((word | high) - ones * 0x20) ^ high) | word;
		if (special & high)
			break;
	}
	while ((unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x80 && text[n] != '"' &&
		text[n] != '\\')
		n++;
	return n;
}

/* The number that four hexadecimal digits mean; -1: they are none. */
static int32_t json_hex(const char *digits)
{
	int32_t number = 0;

	for (int i = 0; i < 4; i++) {
		char c = digits[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;
		if (digit < 0)
			return -1;
		number = number << 4 | digit;
	}
	return number;
}

/* The length of an escape, which must be whole in the text, and its character; 0: it is none. */
static size_t json_escape(const char *text, uint32_t *character)
{
	static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *name = text[1] ? strchr(names, text[1]) : NULL;

	if (name) {
		*character = (unsigned char)means[name - names];
		return 2;
	}
	int32_t first = text[1] == 'u' ? json_hex(text + 2) : -1;
	if (first < 0 || (first >= 0xdc00 && first < 0xe000))
		return 0;
	*character = (uint32_t)first;
	if (first < 0xd800 || first >= 0xdc00)
		return 6;
	int32_t second = text[6] == '\\' && text[7] == 'u' ? json_hex(text + 8) : -1;
	if (second < 0xdc00 || second >= 0xe000)
		return 0;
	*character = 0x10000 + ((uint32_t)(first - 0xd800) << 10 | (uint32_t)(second - 0xdc00));
	return 12;
}

/* Checks the text whose quote is at r->at, which stays; its bytes with both quotes, or an error. */
static int64_t reader_check_text(struct json_reader *r)
{
	size_t n = 1;

	for (;;) {
		n += json_plain(r->at + n);
		const char *p = r->at + n;
		if (*p == '"')
			return (int64_t)n + 1;
		/* an escape has 12 bytes at most */
		if (r->source && r->end - p < 12) {
			int error = reader_fill(r);
			if (error)
				return error;
			continue;
		}
		size_t left = (size_t)(r->end - p), bytes;
		if (!left) {
			r->at = r->end;
			return reader_fail(r, "");
		}
		if (*p == '\\') {
			char escape[12] = "";
			uint32_t character;
			memcpy(escape, p, left < sizeof(escape) ? left : sizeof(escape));
			bytes = json_escape(escape, &character);
			r->has_escapes = true;
		} else {
			bytes = (unsigned char)*p < 0x20 ? 0 : utf8_character(p, left);
		}
		if (!bytes)
			return reader_fail_here(r, p,
				*p == '\\' ? "there is no such escape"
				: (unsigned char)*p < 0x20
					? "a text must not have control characters"
					: "a text must be UTF-8");
		n += bytes;
	}
}

static const char *json_digits(const char *at)
{
	while (*at >= '0' && *at <= '9')
		at++;
	return at;
}

/* The bytes of the number at r->at; 0: there is none. The file may end behind it. */
static int reader_check_number(struct json_reader *r)
{
	int error = 0;
	const char *p, *digits;

	do {
		p = r->at + (*r->at == '-');
		digits = p;
		p = json_digits(p);
		if (p == digits || (*digits == '0' && p != digits + 1))
			p = NULL;
		if (p && *p == '.') {
			digits = ++p;
			p = json_digits(p);
			p = p == digits ? NULL : p;
		}
		if (p && (*p == 'e' || *p == 'E')) {
			p += p[1] == '-' || p[1] == '+' ? 2 : 1;
			digits = p;
			p = json_digits(p);
			p = p == digits ? NULL : p;
		}
		/* it may go on, or be whole, behind what was read */
		if ((p && p < r->end) || !r->source || r->end - r->at > LONGEST_NUMBER)
			break;
		error = reader_fill(r);
	} while (!error);
	return error ? error : p && p - r->at <= LONGEST_NUMBER ? (int)(p - r->at) : 0;
}

/* The bytes of the word, number or text at r->at; 0: there is none of these; or an error. */
static int64_t reader_check_scalar(struct json_reader *r, enum value_kind *kind)
{
	static const struct {
		const char *text;
		enum value_kind kind;
	} words[] = {{"true", VALUE_TRUE}, {"false", VALUE_FALSE}, {"null", VALUE_NULL}};

	if (*r->at == '"') {
		*kind = VALUE_TEXT;
		return reader_check_text(r);
	}
	if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) {
		*kind = VALUE_NUMBER;
		return reader_check_number(r);
	}
	int error = reader_want(r, 5);
	if (error)
		return error;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(r->at, words[i].text, strlen(words[i].text))) {
			*kind = words[i].kind;
			return (int64_t)strlen(words[i].text);
		}
	return 0;
}

/* Reads a member's name and its colon. Sets the name of the last value, if that is kept. */
static int reader_name(struct json_reader *r, bool is_kept)
{
	if (*r->at != '"')
		return reader_fail(r, "there must be a name in quotes");
	int64_t bytes = reader_check_text(r);
	if (bytes < 0)
		return (int)bytes;
	if (is_kept) {
		struct json_value *v = &r->values.items[r->values.count - 1];
		v->key = r->at + 1;
		v->key_bytes = (uint32_t)bytes - 2;
	}
	r->at += bytes;
	int error = reader_skip_blanks(r);
	if (error)
		return error;
	if (*r->at != ':')
		return reader_fail(r, "there must be a colon behind a name");
	r->at++;
	return reader_skip_blanks(r);
}

/* Begins a value, of an object with its name. */
static int reader_begin_value(struct json_reader *r, bool is_kept, bool is_member)
{
	if (is_kept && r->values.count == MOST_VALUES)
		return reader_fail(r, "more than 4194304 values lie in one value");
	if (is_kept && array_push(&r->values, (struct json_value){.key = NULL}))
		return -ENOMEM;
	return is_member ? reader_name(r, is_kept) : 0;
}

/* Reads the value that begins at the next byte, as an array of values if it is kept. */
static int reader_value(struct json_reader *r, bool is_kept)
{
	size_t depth = 0;
	int error = reader_skip_blanks(r);

	if (error)
		return error;
	r->values.count = 0;
	r->kept = is_kept ? r->at : NULL;
	r->has_escapes = false;
	error = reader_begin_value(r, is_kept, false);
	while (!error) {
		struct json_value *v = is_kept ? &r->values.items[r->values.count - 1] : NULL;
		if (*r->at == '{' || *r->at == '[') {
			if (depth == JSON_MOST_DEPTH)
				return reader_fail(r, "values lie too deep in one another");
			r->close[depth] = *r->at == '{' ? '}' : ']';
			if (v) {
				v->text = r->at;
				v->kind = *r->at == '{' ? VALUE_OBJECT : VALUE_ARRAY;
				r->open[depth] = (uint32_t)r->values.count - 1;
			}
			depth++;
			r->at++;
			error = reader_skip_blanks(r);
			if (error)
				break;
			if (*r->at != r->close[depth - 1]) {
				error = reader_begin_value(r, is_kept, r->close[depth - 1] == '}');
				continue;
			}
		} else {
			enum value_kind kind = VALUE_NULL;
			int64_t bytes = reader_check_scalar(r, &kind);
			if (bytes <= 0)
				return bytes ? (int)bytes : reader_fail(r, "there is no value");
			if (v) {
				v = &r->values.items[r->values.count - 1];
				v->kind = kind;
				v->text = r->at + (kind == VALUE_TEXT);
				v->bytes = (uint32_t)bytes - (kind == VALUE_TEXT ? 2 : 0);
				v->count = 1;
			}
			r->at += bytes;
		}
		for (bool is_last = true; is_last;) {
			if (!depth)
				return 0;
			error = reader_skip_blanks(r);
			if (error)
				break;
			is_last = *r->at == r->close[depth - 1];
			if (!is_last)
				break;
			r->at++;
			depth--;
			if (v) {
				v = &r->values.items[r->open[depth]];
				v->bytes = (uint32_t)(r->at - v->text);
				v->count = (uint32_t)r->values.count - r->open[depth];
			}
		}
		if (error)
			break;
		if (*r->at != ',')
			return reader_fail(r, "there must be a comma here");
		r->at++;
		error = reader_skip_blanks(r);
		if (!error)
			error = reader_begin_value(r, is_kept, r->close[depth - 1] == '}');
	}
	return error;
}

/* Puts the end of a text in the stead of its quote, and takes its escapes out. Returns its length.
 */
static uint32_t reader_end_text(struct json_reader *r, const char *text, uint32_t bytes)
{
	char *to = r->window + (text - r->window);
	uint32_t n = r->has_escapes ? 0 : bytes;

	for (uint32_t i = 0; r->has_escapes && i < bytes;) {
		uint32_t code;
		if (text[i] != '\\') {
			to[n++] = text[i++];
			continue;
		}
		i += (uint32_t)json_escape(text + i, &code);
		if (code < 0x80) {
			to[n++] = (char)code;
			continue;
		}
		int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
		to[n++] = (char)(0x1f80 >> more | code >> 6 * more);
		while (more--)
			to[n++] = (char)(0x80 | (code >> 6 * more & 0x3f));
	}
	to[n] = '\0';
	return n;
}

int reader_load(struct json_reader *r, const struct json_value **value)
{
	int error = reader_value(r, true);

	const char *begin = r->kept;
	r->kept = NULL;
	if (error)
		return error;
	if (r->has_escapes) { /* of which some are line ends */
		r->loaded_lines = r->lines + json_lines(r->counted, begin);
		r->lines = r->loaded_lines + json_lines(begin, r->at);
		r->counted = r->at;
	}
	for (size_t i = 0; i < r->values.count; i++) {
		struct json_value *v = &r->values.items[i];
		if (v->kind == VALUE_TEXT)
			v->bytes = reader_end_text(r, v->text, v->bytes);
		if (v->key)
			v->key_bytes = reader_end_text(r, v->key, v->key_bytes);
	}
	*value = r->values.items;
	return 0;
}

int reader_skip(struct json_reader *r)
{
	return reader_value(r, false);
}

int reader_next_byte(struct json_reader *r)
{
	int error = reader_want(r, 3);

	if (!error && !r->base && r->at == r->window && !strncmp(r->at, "\xef\xbb\xbf", 3))
		r->at += 3;
	error = error ? error : reader_skip_blanks(r);
	return error ? error : (unsigned char)*r->at;
}

int reader_enter(struct json_reader *r, char open, struct json_walk *walk)
{
	int error = reader_skip_blanks(r);

	*walk = (struct json_walk){.close = open == '{' ? '}' : ']'};
	if (error)
		return error;
	if (*r->at != open)
		return reader_fail(r, open == '{' ? "there must be an object here"
						  : "there must be an array here");
	r->at++;
	return 0;
}

int reader_next(struct json_reader *r, struct json_walk *walk)
{
	int error = reader_skip_blanks(r);
	bool is_behind_comma = !error && walk->is_begun && *r->at == ',';

	if (is_behind_comma) {
		r->at++;
		error = reader_skip_blanks(r);
	} else if (!error && walk->is_begun && *r->at != walk->close &&
		   !(walk->may_be_cut && r->at == r->end)) {
		return reader_fail(r, "there must be a comma here");
	}
	if (error || (walk->may_be_cut && r->at == r->end))
		return error;
	if (*r->at == walk->close) {
		if (is_behind_comma && !walk->may_be_cut)
			return reader_fail(r, walk->close == '}' ? "there must be a name in quotes"
								 : "there is no value");
		r->at++;
		return 0;
	}
	walk->is_begun = true;
	if (walk->close == ']')
		return 1;
	if (*r->at != '"')
		return reader_fail(r, "there must be a name in quotes");
	int64_t bytes = reader_check_text(r);
	if (bytes < 0)
		return (int)bytes;
	*r->name_bytes = '\0';
	if ((size_t)bytes - 2 < sizeof(r->name_bytes)) {
		memcpy(r->name_bytes, r->at + 1, (size_t)bytes - 2);
		r->name_bytes[bytes - 2] = '\0';
	}
	r->name = r->name_bytes;
	error = reader_name(r, false);
	return error ? error : 1;
}

int reader_end(struct json_reader *r)
{
	int error = reader_skip_blanks(r);

	return error || r->at == r->end ? error : reader_fail(r, "something follows the end of it");
}

const struct json_value *value_first(const struct json_value *container)
{
	return container && container->count > 1 ? container + 1 : NULL;
}

bool value_whole(const struct json_value *value, int64_t *whole)
{
	if (!value || value->kind != VALUE_NUMBER)
		return false;
	bool is_negative = *value->text == '-';
	int64_t number = 0;
	for (size_t i = is_negative; i < value->bytes; i++) {
		unsigned digit = (unsigned char)value->text[i] - (unsigned)'0';
		if (digit > 9 || number > (INT64_MAX - 9) / 10)
			return false;
		number = number * 10 + digit;
	}
	*whole = is_negative ? -number : number;
	return true;
}

bool value_real(const struct json_value *value, double *number)
{
	int64_t whole;

	if (!value || value->kind != VALUE_NUMBER)
		return false;
	*number = value_whole(value, &whole) ? (double)whole : strtod(value->text, NULL);
	return *number - *number == 0;
}
