/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner knows strings and brackets, finds where an event ends, and where its times stand.
 * What an event says is jansson's to read.
 */
#include "import/json_events.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "brick/error.h"

enum { MAX_DEPTH = 512, NUMBER_BYTES = 64 };

struct scan {
	const char *text, *end, *at;
	const struct json_events_target *target;
	void *context;
	struct import_error *error;
};

int import_fail(
	struct import_error *error, const char *text, size_t offset, const char *format, ...)
{
	size_t line = 1;
	va_list arguments;

	for (const char *p = text; (p = memchr(p, '\n', (size_t)(text + offset - p))); p++)
		line++;
	int n = snprintf(error->text, sizeof(error->text), "line %zu, byte %zu: ", line, offset);
	va_start(arguments, format);
	vsnprintf(error->text + n, sizeof(error->text) - (size_t)n, format, arguments);
	va_end(arguments);
	return BRICK_EFORMAT;
}

static int json_events_fail(struct scan *s, const char *why)
{
	return import_fail(s->error, s->text, (size_t)(s->at - s->text), "%s",
		s->at == s->end ? "the file ends here, in the middle of what it says" : why);
}

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end &&
		(*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool json_events_is_next(struct scan *s, char c)
{
	skip_blanks(s);
	return s->at < s->end && *s->at == c;
}

static bool skip_text(struct scan *s)
{
	for (s->at++; s->at < s->end; s->at++) {
		if (*s->at == '"') {
			s->at++;
			return true;
		}
		if (*s->at == '\\' && s->at + 1 < s->end)
			s->at++;
	}
	return false;
}

static bool key_is(const char *key, size_t bytes, const char *name)
{
	return bytes == strlen(name) + 2 && !memcmp(key + 1, name, bytes - 2);
}

/* Behind a value; *event, if there is one: where its times stand. */
static int skip_value(struct scan *s, struct json_event *event)
{
	size_t depth = 0;

	do {
		skip_blanks(s);
		if (s->at == s->end)
			return json_events_fail(s, "");
		const char *begin = s->at;
		if (*s->at == '"') {
			if (!skip_text(s))
				return json_events_fail(s, "");
			size_t bytes = (size_t)(s->at - begin);
			if (event && depth == 1 && json_events_is_next(s, ':')) {
				s->at++;
				skip_blanks(s);
				if (key_is(begin, bytes, "ts"))
					event->ts = s->at;
				else if (key_is(begin, bytes, "dur"))
					event->dur = s->at;
			}
		} else if (*s->at == '{' || *s->at == '[') {
			s->at++;
			if (++depth > MAX_DEPTH)
				return json_events_fail(s, "values lie too deep in one another");
		} else if (*s->at == '}' || *s->at == ']') {
			if (!depth)
				return json_events_fail(s, "there is no value");
			s->at++;
			depth--;
		} else if ((*s->at == ',' || *s->at == ':') && depth) {
			s->at++;
		} else {
			/* A number or a word. */
			while (s->at < s->end && !strchr(",:]}[{\" \t\n\r", *s->at))
				s->at++;
			if (s->at == begin)
				return json_events_fail(s, "there is no value");
		}
	} while (depth);
	return 0;
}

/* The value that lies there, by jansson. NULL: it is faulty. */
static json_t *json_events_read_value(struct scan *s, const char *begin, size_t flags)
{
	json_error_t why;
	json_t *value = json_loadb(begin, (size_t)(s->at - begin),
		flags | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &why);

	if (!value) {
		size_t offset =
			(size_t)(begin - s->text) + (size_t)(why.position > 0 ? why.position : 0);
		size_t most = (size_t)(s->end - s->text);
		import_fail(s->error, s->text, offset < most ? offset : most, "%.200s", why.text);
	}
	return value;
}

static int json_events_read_event(struct scan *s)
{
	const char *begin = s->at;
	struct json_event event = {.offset = (size_t)(begin - s->text)};
	int error = skip_value(s, &event);

	if (error)
		return error;
	event.members = json_events_read_value(s, begin, JSON_DECODE_ANY);
	if (!event.members)
		return BRICK_EFORMAT;
	if (json_is_object(event.members))
		error = s->target->event(s->context, &event);
	else
		error = import_fail(s->error, s->text, event.offset, "an event must be an object");
	json_decref(event.members);
	return error;
}

/* An array at the top may end without its bracket, and with a comma. */
static int read_events(struct scan *s, bool is_top)
{
	int error = 0;

	if (!json_events_is_next(s, '['))
		return json_events_fail(s, "the events must be an array");
	for (s->at++; !json_events_is_next(s, ']') && !error;) {
		if (is_top && s->at == s->end)
			return 0;
		error = json_events_read_event(s);
		if (error || json_events_is_next(s, ']') || (is_top && s->at == s->end))
			continue;
		if (!json_events_is_next(s, ','))
			return json_events_fail(s, "there must be a comma between two events");
		s->at++;
	}
	s->at += !error;
	return error;
}

static int json_events_read_member(struct scan *s)
{
	if (!json_events_is_next(s, '"'))
		return json_events_fail(s, "there must be a name in quotes");
	const char *key = s->at;
	if (!skip_text(s))
		return json_events_fail(s, "");
	size_t bytes = (size_t)(s->at - key);
	if (!json_events_is_next(s, ':'))
		return json_events_fail(s, "there must be a colon behind a name");
	s->at++;
	skip_blanks(s);
	if (key_is(key, bytes, "traceEvents"))
		return read_events(s, false) ? BRICK_EFORMAT : 1;
	const char *begin = s->at;
	char name[64];
	int error = skip_value(s, NULL);
	if (error || bytes - 2 >= sizeof(name))
		return error;
	memcpy(name, key + 1, bytes - 2);
	name[bytes - 2] = '\0';
	json_t *value = json_events_read_value(s, begin, JSON_DECODE_ANY);
	if (!value)
		return BRICK_EFORMAT;
	error = s->target->member(s->context, name, value);
	json_decref(value);
	return error;
}

static int json_events_read_object(struct scan *s)
{
	bool has_events = false;

	for (s->at++; !json_events_is_next(s, '}');) {
		int found = json_events_read_member(s);
		if (found < 0)
			return found;
		has_events = has_events || found;
		if (json_events_is_next(s, ','))
			s->at++;
		else if (!json_events_is_next(s, '}'))
			return json_events_fail(s, "there must be a comma between two members");
	}
	s->at++;
	if (has_events)
		return 0;
	s->at = s->text;
	return json_events_fail(s, "there is no array \"traceEvents\" in it");
}

int json_events_read(const char *text, size_t bytes, const struct json_events_target *target,
	void *context, struct import_error *error)
{
	struct scan s = {text, text + bytes, text, target, context, error};

	if (bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		s.at += 3;
	bool is_array = json_events_is_next(&s, '[');
	if (!is_array && !json_events_is_next(&s, '{'))
		return json_events_fail(&s, "it begins with neither an array nor an object");
	int result = is_array ? read_events(&s, true) : json_events_read_object(&s);
	if (result)
		return result;
	skip_blanks(&s);
	return s.at == s.end ? 0 : json_events_fail(&s, "something follows the end of it");
}

/* Digits are counted as they stand: a double has too few. */
bool json_events_ns(const char *us, int64_t *ns)
{
	bool is_negative = *us == '-' || (*us == '"' && us[1] == '-');
	uint64_t value = 0;
	int digits = 0, places = -1;

	us += *us == '"';
	us += is_negative;
	const char *begin = us;
	for (;; us++) {
		if (*us == '.' && places < 0) {
			places = 0;
			continue;
		}
		if (*us < '0' || *us > '9')
			break;
		digits++;
		if (places >= 3) {
			value += places == 3 && *us >= '5';
			places++;
			continue;
		}
		if (value > (uint64_t)INT64_MAX / 20)
			return false;
		value = value * 10 + (uint64_t)(*us - '0');
		places += places >= 0;
	}
	for (int p = places < 0 ? 0 : places; p < 3; p++) {
		if (value > (uint64_t)INT64_MAX / 20)
			return false;
		value *= 10;
	}
	if (*us == 'e' || *us == 'E') {
		char number[NUMBER_BYTES] = "";
		for (size_t i = 0;
			i + 1 < sizeof(number) && begin[i] && strchr("0123456789.eE+-", begin[i]);
			i++)
			number[i] = begin[i];
		long double exact = strtold(number, NULL) * 1000;
		if (!(exact >= 0 && exact < 4e18L))
			return false;
		value = (uint64_t)(exact + 0.5L);
	}
	*ns = is_negative ? -(int64_t)value : (int64_t)value;
	return digits > 0;
}
