/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner knows only strings and brackets: it finds where an event ends and where its times
 * are. jansson then parses the event. Of a source that comes in parts, the scanner holds a window,
 * which moves between events and grows to the longest event.
 */
#include "import/json_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"

enum {
	MAX_DEPTH = 512,	/* of values in one another */
	NUMBER_BYTES = 64,	/* of a number with an exponent */
	AHEAD = 1 << 16,	/* bytes that a name and the blanks around it may take */
	WINDOW_BYTES = 1 << 20, /* that are read beyond those asked for */
};

struct json_scan {
	const char *text, *end; /* the file, or the window's part of it */
	const char *at;		/* the next byte to look at */
	const struct json_events_target *target;
	void *context;
	struct import_error *error;
	const struct import_source *source; /* NULL: nothing follows `end` */
	char *window;			    /* owned; NULL: the text is in memory */
	size_t capacity;
	size_t base, lines; /* bytes and line ends before `text` */
};

static int import_fail(const struct json_scan *s, size_t offset, const char *why)
{
	size_t line = s->lines + 1;

	for (const char *p = s->text; (p = memchr(p, '\n', (size_t)(s->text + offset - p))); p++)
		line++;
	snprintf(s->error->text, sizeof(s->error->text), "line %zu, byte %zu: %s", line,
		s->base + offset, why);
	return BRICK_EFORMAT;
}

int json_event_fail(const struct json_event *event, const char *why)
{
	return import_fail(event->scan, event->offset, why);
}

/*
 * Makes `wanted` bytes available at s->at, or all that are left. Bytes before s->at are dropped,
 * and the text moves: pointers into it are no longer valid. 0, -ENOMEM or BRICK_EFORMAT.
 */
static int json_events_fill(struct json_scan *s, size_t wanted)
{
	size_t rest = (size_t)(s->end - s->at);

	if (!s->source || rest >= wanted)
		return 0;
	for (const char *p = s->text; (p = memchr(p, '\n', (size_t)(s->at - p))); p++)
		s->lines++;
	s->base += (size_t)(s->at - s->text);
	if (rest)
		memmove(s->window, s->at, rest);
	if (s->capacity < wanted + WINDOW_BYTES) {
		char *larger = realloc(s->window, wanted + WINDOW_BYTES + 1);
		if (!larger)
			return -ENOMEM;
		s->window = larger;
		s->capacity = wanted + WINDOW_BYTES;
	}
	int got = 1;
	while (got > 0 && rest < s->capacity) {
		got = s->source->read(s->source->from, s->window + rest, s->capacity - rest);
		rest += got > 0 ? (size_t)got : 0;
	}
	s->window[rest] = '\0';
	s->text = s->at = s->window;
	s->end = s->window + rest;
	if (got < 0)
		return import_fail(
			s, rest, "what follows cannot be unpacked: the file is damaged or cut off");
	if (!got)
		s->source = NULL;
	return 0;
}

static int json_events_fail(struct json_scan *s, const char *why)
{
	return import_fail(s, (size_t)(s->at - s->text),
		s->at == s->end ? "the file ends here, in the middle of what it says" : why);
}

static void skip_blanks(struct json_scan *s)
{
	while (s->at < s->end &&
		(*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool json_events_is_next(struct json_scan *s, char c)
{
	skip_blanks(s);
	return s->at < s->end && *s->at == c;
}

static bool skip_text(struct json_scan *s)
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

/* Moves behind a value. Sets the event's ts and dur, if `event` is not NULL. */
static int skip_value(struct json_scan *s, struct json_event *event)
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
				else if (key_is(begin, bytes, "cat"))
					event->category = s->at;
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

/* As skip_value(), for a value that may end behind the window. *begin: where the value begins. */
static int json_events_skip_whole(struct json_scan *s, struct json_event *event, const char **begin)
{
	for (;;) {
		*begin = s->at;
		if (event)
			event->ts = event->dur = event->category = NULL;
		int error = skip_value(s, event);
		if (s->at < s->end || !s->source)
			return error;
		size_t seen = (size_t)(s->at - *begin);
		s->at = *begin;
		error = json_events_fill(s, 2 * seen + AHEAD);
		if (error)
			return error;
	}
}

/* Parses the value from `begin` to s->at. NULL: it is faulty, and the error is set. */
static json_t *json_events_read_value(struct json_scan *s, const char *begin, size_t flags)
{
	json_error_t why;
	json_t *value = json_loadb(begin, (size_t)(s->at - begin), flags | JSON_ALLOW_NUL, &why);

	if (!value) {
		size_t offset =
			(size_t)(begin - s->text) + (size_t)(why.position > 0 ? why.position : 0);
		size_t most = (size_t)(s->end - s->text);
		import_fail(s, offset < most ? offset : most, why.text);
	}
	return value;
}

static int json_events_read_event(struct json_scan *s)
{
	struct json_event event = {.scan = s};
	const char *begin;
	int error = json_events_skip_whole(s, &event, &begin);

	if (error)
		return error;
	if (event.category && s->target->skips && s->target->skips(s->context, event.category))
		return 0;
	event.offset = (size_t)(begin - s->text);
	event.members = json_events_read_value(s, begin, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL);
	if (!event.members)
		return BRICK_EFORMAT;
	error = json_is_object(event.members)
			? s->target->event(s->context, &event)
			: json_event_fail(&event, "an event must be an object");
	json_decref(event.members);
	return error;
}

/* Reads the array of events. is_top: it may end without its bracket, and with a comma. */
static int read_events(struct json_scan *s, bool is_top)
{
	int error = 0;

	if (!json_events_is_next(s, '['))
		return json_events_fail(s, "the events must be an array");
	for (s->at++; !(error = json_events_fill(s, AHEAD)) && !json_events_is_next(s, ']');) {
		if (is_top && s->at == s->end)
			return 0;
		error = json_events_read_event(s);
		if (!error)
			error = json_events_fill(s, AHEAD);
		if (error)
			return error;
		if (json_events_is_next(s, ']') || (is_top && s->at == s->end))
			continue;
		if (!json_events_is_next(s, ','))
			return json_events_fail(s, "there must be a comma between two events");
		s->at++;
	}
	s->at += !error;
	return error;
}

static int json_events_read_member(struct json_scan *s)
{
	int error = json_events_fill(s, AHEAD);

	if (error)
		return error;
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
	if (key_is(key, bytes, "traceEvents")) {
		error = read_events(s, false);
		return error ? error : 1;
	}
	char name[64] = "";
	bool fits = bytes - 2 < sizeof(name);
	if (fits)
		memcpy(name, key + 1, bytes - 2);
	const char *begin;
	error = json_events_skip_whole(s, NULL, &begin);
	if (error || !fits)
		return error;
	/* integers stay exact: times of rocprofv3 have more digits than a double */
	bool is_exact = !strcmp(name, "rocprofiler-sdk-tool");
	json_t *value = json_events_read_value(
		s, begin, JSON_DECODE_ANY | (is_exact ? 0 : JSON_DECODE_INT_AS_REAL));
	if (!value)
		return BRICK_EFORMAT;
	error = s->target->member(s->context, name, value);
	json_decref(value);
	return error;
}

static int json_events_read_object(struct json_scan *s)
{
	bool has_events = false;

	for (s->at++; !json_events_is_next(s, '}');) {
		int found = json_events_read_member(s);
		if (found < 0)
			return found;
		has_events = has_events || found;
		found = json_events_fill(s, AHEAD);
		if (found)
			return found;
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

static int json_events_read_text(struct json_scan *s)
{
	int error = json_events_fill(s, AHEAD);

	if (error)
		return error;
	if (s->end - s->at >= 3 && !memcmp(s->at, "\xef\xbb\xbf", 3))
		s->at += 3;
	bool is_array = json_events_is_next(s, '[');
	if (!is_array && !json_events_is_next(s, '{'))
		return json_events_fail(s, "it begins with neither an array nor an object");
	error = is_array ? read_events(s, true) : json_events_read_object(s);
	if (!error)
		error = json_events_fill(s, AHEAD);
	if (error)
		return error;
	skip_blanks(s);
	return s->at == s->end ? 0 : json_events_fail(s, "something follows the end of it");
}

int json_events_read(const struct import_source *source, const struct json_events_target *target,
	void *context, struct import_error *error)
{
	struct json_scan s = {.target = target, .context = context, .error = error};

	if (source->read)
		s.source = source;
	s.text = s.at = source->read ? "" : source->text;
	s.end = s.text + (source->read ? 0 : source->bytes);
	int result = json_events_read_text(&s);
	free(s.window);
	return result;
}

/* Digits are added up as integers, because a double has too few. The 4th decimal rounds. */
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
