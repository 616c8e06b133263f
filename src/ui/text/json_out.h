/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON answers, built with jansson. Strings become valid UTF-8, unknown values become null, and the
 * output is ASCII, so that it cannot move a terminal's cursor. Without memory a value is left out,
 * and text_error() says so. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include "base/members.h"

/* Each returns a new reference, or NULL without memory; json_put() and json_add() take NULL. */
json_t *json_text(const char *s);	     /* NULL gives null */
json_t *json_number(uint64_t value);	     /* ANALYSIS_UNKNOWN gives null */
json_t *json_rate(double value);	     /* negative and not finite give null */
json_t *json_signed(double value);	     /* not finite gives null */
json_t *json_command(char *const *argv);     /* array of strings; NULL gives null */
json_t *json_sizes(const uint32_t sizes[3]); /* NULL or a first size of 0 gives null */

/* Set a key of an object; takes the reference. */
void json_put(json_t *object, const char *key, json_t *value);

/* Set keys to members of the struct at `from`; a member's name is the key, so names are stable. */
#define json_put_numbers(object, from, ...) JSON__ALL(EACH(JSON__NUMBER, object, from, __VA_ARGS__))
#define json_put_texts(object, from, ...) JSON__ALL(EACH(JSON__TEXT, object, from, __VA_ARGS__))
#define json_put_rates(object, from, ...) JSON__ALL(EACH(JSON__RATE, object, from, __VA_ARGS__))
#define json_put_signed(object, from, ...) JSON__ALL(EACH(JSON__SIGNED, object, from, __VA_ARGS__))
#define JSON__ALL(...)      \
	do {                \
		__VA_ARGS__ \
	} while (0)
#define JSON__SIGNED(object, from, m) json_put(object, #m, json_signed((from)->m));
#define JSON__NUMBER(object, from, m) json_put(object, #m, json_number((from)->m));
#define JSON__TEXT(object, from, m) json_put(object, #m, json_text((from)->m));
#define JSON__RATE(object, from, m) json_put(object, #m, json_rate((from)->m));

/* Append to an array; takes the reference. */
void json_add(json_t *array, json_t *value);

/* Print, with a newline at the end, and release. */
void json_print(json_t *value, FILE *out);
