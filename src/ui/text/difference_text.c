/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a difference have two or three digits, because further digits are noise. */
#include "ui/text/difference_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double many = 9; /* from here on an effect is a factor */

static bool is_factor(const struct difference *d)
{
	return d->kind == DIFFERENCE_RATE || d->effect >= many || d->high >= many ||
	       d->effect < -0.99;
}

static void put_factor(char *out, size_t size, double effect, const char *unit)
{
	double factor = 1 + effect;

	snprintf(out, size,
		factor >= 100	? "%.0f%s"
		: factor >= 0.1 ? "%.3g%s"
				: "%.2g%s",
		factor, unit);
}

static void put_percent(char *out, size_t size, double effect, const char *unit)
{
	double percent = 100 * effect;
	bool fine = fabs(percent) < 9.95 || percent < -99;

	if (fabs(percent) < 0.05)
		snprintf(out, size, "0.0%s", unit);
	else
		snprintf(out, size, fine ? "%+.1f%s" : "%+.0f%s", percent, unit);
}

static void difference_text_put(
	char *out, size_t size, const struct difference *d, double effect, bool unit)
{
	if (is_factor(d))
		put_factor(out, size, effect, unit ? "x" : "");
	else
		put_percent(out, size, effect, unit ? " %" : "");
}

char *difference_size(char out[DIFFERENCE_BYTES], const struct difference *d)
{
	if (isnan(d->effect))
		return strcpy(out, "-");
	difference_text_put(out, DIFFERENCE_BYTES, d, d->effect, true);
	return out;
}

char *difference_short(char out[DIFFERENCE_BYTES], const struct difference *d)
{
	char size[DIFFERENCE_BYTES - 2];

	if (d->verdict == COMPARE_ONLY_A || d->verdict == COMPARE_ONLY_B)
		return strcpy(out, "-");
	if (d->verdict != COMPARE_UNSURE)
		return difference_size(out, d);
	if (isnan(d->effect))
		return strcpy(out, "~");
	difference_text_put(size, sizeof(size), d, d->effect, true);
	snprintf(out, DIFFERENCE_BYTES, "~ %s", size);
	return out;
}

char *difference_interval(char out[DIFFERENCE_BYTES], const struct difference *d)
{
	const double useless = 100; /* from a tenth to ten times, say */
	char low[DIFFERENCE_BYTES / 2 - 4], high[DIFFERENCE_BYTES / 2 - 4];

	if (!isfinite(d->low) || !isfinite(d->high) ||
		(d->verdict == COMPARE_UNSURE && 1 + d->high > useless * (1 + d->low)))
		return strcpy(out, "");
	difference_text_put(low, sizeof(low), d, d->low, false);
	difference_text_put(high, sizeof(high), d, d->high, !is_factor(d));
	snprintf(out, DIFFERENCE_BYTES, "%s to %s", low, high);
	return out;
}

char *difference_text(const struct difference *d)
{
	char size[DIFFERENCE_BYTES], interval[DIFFERENCE_BYTES];
	bool has_bounds = *difference_interval(interval, d) != '\0';

	switch (d->verdict) {
	case COMPARE_FASTER:
	case COMPARE_SLOWER:
		return text_format("%s (%s)", difference_size(size, d), interval);
	case COMPARE_BEYOND:
		return text_format("~ %s (%s), beyond zero, perhaps below the %.3g %% that matter",
			difference_size(size, d), interval, 100 * d->threshold);
	case COMPARE_SAME:
		return text_format("same within %.3g %% (%s)", 100 * d->threshold, interval);
	case COMPARE_UNSURE:
		difference_short(size, d);
		return has_bounds ? text_format("%s (%s)", size, interval) : text_copy(size);
	default:
		return text_copy(compare_verdict_name(d->verdict));
	}
}

char *difference_sees(char out[DIFFERENCE_BYTES], const struct difference *d)
{
	if (!isfinite(d->detectable))
		return strcpy(out, "");
	if (d->detectable >= many)
		snprintf(out, DIFFERENCE_BYTES, "%.0fx", 1 + d->detectable);
	else
		snprintf(out, DIFFERENCE_BYTES, d->detectable < 0.0995 ? "%.1f %%" : "%.0f %%",
			100 * d->detectable);
	return out;
}

enum terminal_style difference_style(enum compare_verdict verdict)
{
	switch (verdict) {
	case COMPARE_SLOWER:
		return STYLE_BAD;
	case COMPARE_FASTER:
		return STYLE_GOOD;
	case COMPARE_UNSURE:
	case COMPARE_BEYOND:
		return STYLE_DIM;
	default:
		return STYLE_PLAIN;
	}
}
