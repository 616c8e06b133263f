/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A variable of one signal stands before that of all signals, and an empty one counts as none. A
 * signal's own endpoint is taken as it is. Headers are a list as in W3C Baggage, NAME=VALUE with
 * commas between and values percent-encoded.
 */
#include "ui/serve/otlp_target.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/scope.h"

#define DEFAULT_COLLECTOR "http://localhost:4318"

/* Reads a variable of the signal, or else of all signals; NULL: not set. *name: to be freed. */
static const char *variable(const char *signal, const char *what, char **name)
{
	const char *own, *general;

	if (asprintf(name, "OTEL_EXPORTER_OTLP_%s_%s", signal, what) < 0) {
		*name = NULL;
		return NULL;
	}
	for (char *c = *name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	own = getenv(*name);
	if (own && *own)
		return own;
	sprintf(*name, "OTEL_EXPORTER_OTLP_%s", what); /* shorter */
	general = getenv(*name);
	return general && *general ? general : NULL;
}

static bool is_url(const char *url)
{
	return (!strncasecmp(url, "http://", 7) && url[7]) ||
	       (!strncasecmp(url, "https://", 8) && url[8]);
}

static int otlp_target_refuse(char **why, const char *name, const char *problem)
{
	return asprintf(why, "%s%s%s", name, *name ? ": " : "", problem) < 0 ? -ENOMEM : -EINVAL;
}

static int find_url(
	struct otlp_target *target, const char *collector, const char *signal, char **why)
{
	SCOPED char *name = NULL;
	bool is_whole = false;

	if (!strcmp(collector, OTLP_TARGET_ENVIRONMENT)) {
		const char *said = variable(signal, "ENDPOINT", &name);
		if (!name)
			return -ENOMEM;
		collector = said ? said : DEFAULT_COLLECTOR;
		is_whole = said && strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") != 0;
	}
	if (!is_url(collector))
		return otlp_target_refuse(
			why, name ? name : "", "must be a URL, as " DEFAULT_COLLECTOR);
	size_t length = strlen(collector);
	while (!is_whole && collector[length - 1] == '/')
		length--;
	if (asprintf(&target->url, "%.*s%s%s", (int)length, collector, is_whole ? "" : "/v1/",
		    is_whole ? "" : signal) < 0) {
		target->url = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* RFC 9110: a token. */
static bool otlp_target_is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && (!s[i] || !strchr("!#$%&'*+-.^_`|~", s[i])))
			return false;
	return n > 0;
}

static int digit(char c)
{
	return c >= '0' && c <= '9'		    ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

/* Percent-decoded; -1: not decodable, or a header must not have it. */
static int next_of_value(const char **at, const char *end)
{
	const char *s = *at;
	int c = (unsigned char)*s;

	*at = s + 1;
	if (c == '%') {
		int high = end - s > 2 ? digit(s[1]) : -1, low = high >= 0 ? digit(s[2]) : -1;
		if (low < 0)
			return -1;
		c = 16 * high + low;
		*at = s + 3;
	}
	return (c < ' ' && c != '\t') || c == 127 ? -1 : c;
}

static void otlp_target_trim(const char **from, const char **end)
{
	while (*from < *end && isspace((unsigned char)**from))
		++*from;
	while (*from < *end && isspace((unsigned char)(*end)[-1]))
		--*end;
}

/* NAME=VALUE, as a line that libcurl takes; false: it is none. An empty one is left out. */
static bool put_header(FILE *out, const char *from, const char *end)
{
	otlp_target_trim(&from, &end);
	if (from == end)
		return true;
	const char *equals = memchr(from, '=', (size_t)(end - from));
	if (!equals)
		return false;
	const char *name_end = equals, *value = equals + 1;
	otlp_target_trim(&from, &name_end);
	otlp_target_trim(&value, &end);
	if (!otlp_target_is_name(from, (size_t)(name_end - from)))
		return false;
	/* libcurl takes a header without a value for one that is to be removed */
	fprintf(out, "\n%.*s%s", (int)(name_end - from), from, value < end ? ": " : ";");
	while (value < end) {
		int c = next_of_value(&value, end);
		if (c < 0)
			return false;
		fputc(c, out);
	}
	return true;
}

static int find_headers(struct otlp_target *target, const char *signal, char **why)
{
	SCOPED char *name = NULL;
	const char *list = variable(signal, "HEADERS", &name);
	size_t bytes;
	FILE *out = name ? open_memstream(&target->headers, &bytes) : NULL;
	bool is_well = true;
	int number = 0;

	if (!out)
		return -ENOMEM;
	fputs("Content-Type: application/json", out);
	while (list && is_well) {
		size_t length = strcspn(list, ",");
		is_well = put_header(out, list, list + length);
		number++;
		list = list[length] ? list + length + 1 : NULL;
	}
	int failed = ferror(out);
	if (fclose(out) != 0 || failed)
		return -ENOMEM;
	if (is_well)
		return 0;
	/* without its text, which may be a secret */
	SCOPED char *problem = NULL;
	if (asprintf(&problem, "header %d is not NAME=VALUE, percent-encoded", number) < 0) {
		problem = NULL;
		return -ENOMEM;
	}
	return otlp_target_refuse(why, name, problem);
}

int otlp_target_init(
	struct otlp_target *target, const char *collector, const char *signal, char **why)
{
	*target = (struct otlp_target){0};
	*why = NULL;
	return find_url(target, collector, signal, why) ?: find_headers(target, signal, why);
}

void otlp_target_fini(struct otlp_target *target)
{
	free(target->url);
	free(target->headers);
	*target = (struct otlp_target){0};
}
