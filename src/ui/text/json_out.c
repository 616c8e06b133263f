/* SPDX-License-Identifier: Apache-2.0 */
/* Thin over jansson: what a command may put into an answer. Called by commands with --json. */
#include "ui/text/json_out.h"

#include <math.h>

#include "analysis/accounts/unknown.h"
#include "base/scope.h"
#include "ui/text/exit_code.h"
#include "ui/text/die.h"
#include "ui/text/text_out.h"

static json_t *check(json_t *value)
{
	if (!value)
		die(CLI_SYSTEM, "out of memory");
	return value;
}

json_t *json_text(const char *s)
{
	if (!s)
		return check(json_null());
	SCOPED char *valid = text_valid(s);
	return check(json_string(valid));
}

json_t *json_number(uint64_t value)
{
	if (value == ANALYSIS_UNKNOWN)
		return check(json_null());
	return check(json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

json_t *json_signed(double value)
{
	return check(isfinite(value) ? json_real(value) : json_null());
}

json_t *json_rate(double value)
{
	return json_signed(value >= 0 ? value : NAN);
}

json_t *json_command(char *const *argv)
{
	if (!argv)
		return check(json_null());
	json_t *array = check(json_array());
	for (; *argv; argv++)
		json_add(array, json_text(*argv));
	return array;
}

json_t *json_sizes(const uint32_t sizes[3])
{
	if (!sizes || !sizes[0])
		return check(json_null());
	json_t *array = check(json_array());
	for (int i = 0; i < 3; i++)
		json_add(array, json_number(sizes[i]));
	return array;
}

void json_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		die(CLI_SYSTEM, "out of memory");
}

void json_add(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) != 0)
		die(CLI_SYSTEM, "out of memory");
}

void json_print(json_t *value, FILE *out)
{
	json_dumpf(value, out, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(value);
}
