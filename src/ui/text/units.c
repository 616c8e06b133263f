/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers with units. Called by everything that prints text. */
#include "ui/text/units.h"

#include <stdio.h>
#include <string.h>

#include "analysis/accounts/unknown.h"
#include "ui/text/text_out.h"

static int decimals(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static char *unknown(char *out)
{
	return strcpy(out, "-");
}

/* value in the first unit that keeps it below 999.5; the last unit takes all that is larger. */
static char *scaled(char *out, double value, const char *const *units, size_t n)
{
	size_t unit = 0;
	while (unit + 1 < n && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	snprintf(out, UNITS_BYTES, "%.*f%s", decimals(value), value, units[unit]);
	return out;
}

char *units_time(char out[UNITS_BYTES], uint64_t ns)
{
	const char *const units[] = {text_is_utf8() ? "\xc2\xb5s" : "us", "ms", "s"};
	if (ns == ANALYSIS_UNKNOWN)
		return unknown(out);
	if (!ns)
		return strcpy(out, "0");
	if (ns < 1000) {
		snprintf(out, UNITS_BYTES, "%lluns", (unsigned long long)ns);
		return out;
	}
	return scaled(out, (double)ns / 1000, units, 3);
}

/* As it is below `least`, else in thousands of `units`. */
static char *whole(char out[UNITS_BYTES], uint64_t value, uint64_t least, const char *unit,
	const char *const units[5])
{
	if (value == ANALYSIS_UNKNOWN)
		return unknown(out);
	if (value >= least)
		return scaled(out, (double)value / 1000, units, 5);
	snprintf(out, UNITS_BYTES, "%llu%s", (unsigned long long)value, unit);
	return out;
}

char *units_count(char out[UNITS_BYTES], uint64_t count)
{
	static const char *const units[] = {"k", "M", "G", "T", "P"};
	return whole(out, count, 100000, "", units);
}

char *units_bytes(char out[UNITS_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
	return whole(out, bytes, 1000, "B", units);
}

char *units_number(char out[UNITS_BYTES], double value)
{
	if (!(value >= 0))
		return unknown(out);
	if (value > 0 && value < 0.0005)
		return strcpy(out, "<0.001");
	snprintf(
		out, UNITS_BYTES, "%.*f", value > 0 && value < 0.0995 ? 3 : decimals(value), value);
	return out;
}

char *units_percent(char out[UNITS_BYTES], double share)
{
	double percent = 100 * share;
	if (!(share >= 0))
		return unknown(out);
	if (percent > 0 && percent < 0.05)
		return strcpy(out, "<0.1%");
	if (percent >= 99.95 && percent < 100)
		return strcpy(out, ">99.9%");
	snprintf(out, UNITS_BYTES, "%.1f%%", percent);
	return out;
}
