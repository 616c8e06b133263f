/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin layer over jansson. jansson accepts NULL for a value that was not made, and frees values
 * that it cannot store, so only the first failure needs to be remembered.
 */
#include "ui/text/json_out.h"

#include <errno.h>
#include <math.h>

#include "analysis/statistics/unknown.h"
#include "base/scope.h"
#include "ui/text/text.h"

static json_t *json_out_check(json_t *value)
{
	text_fail(value ? 0 : -ENOMEM);
	return value;
}

json_t *json_text(const char *s)
{
	if (!s)
		return json_out_check(json_null());
	SCOPED char *valid = text_valid(s);
	return json_out_check(json_string(valid));
}

json_t *json_number(uint64_t value)
{
	if (value == ANALYSIS_UNKNOWN)
		return json_out_check(json_null());
	return json_out_check(json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

json_t *json_signed(double value)
{
	return json_out_check(isfinite(value) ? json_real(value) : json_null());
}

json_t *json_rate(double value)
{
	return json_signed(value >= 0 ? value : NAN);
}

json_t *json_command(char *const *argv)
{
	if (!argv)
		return json_out_check(json_null());
	json_t *array = json_out_check(json_array());
	for (; *argv; argv++)
		json_add(array, json_text(*argv));
	return array;
}

json_t *json_sizes(const uint32_t sizes[3])
{
	if (!sizes || !sizes[0])
		return json_out_check(json_null());
	json_t *array = json_out_check(json_array());
	for (int i = 0; i < 3; i++)
		json_add(array, json_number(sizes[i]));
	return array;
}

void json_put(json_t *object, const char *key, json_t *value)
{
	text_fail(json_object_set_new(object, key, value) ? -ENOMEM : 0);
}

void json_add(json_t *array, json_t *value)
{
	text_fail(json_array_append_new(array, value) ? -ENOMEM : 0);
}

void json_print(json_t *value, FILE *out)
{
	int rc =
		json_dumpf(value, out, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));

	text_fail(rc < 0 && !ferror(out) ? -ENOMEM : 0);
	fputc('\n', out);
	json_decref(value);
}
