/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as text. Header only; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "base/clock_ns.h"

enum { DATE_BYTES = 40 };

/*
 * Format a moment, in ns since 1970, as UTC by strftime(3). Returns out; NULL: the moment is 0, or
 * the text does not fit.
 */
static inline const char *date_text(char out[DATE_BYTES], uint64_t unix_ns, const char *format)
{
	time_t seconds = (time_t)(unix_ns / NS_PER_S);
	struct tm tm;

	return unix_ns && gmtime_r(&seconds, &tm) && strftime(out, DATE_BYTES, format, &tm) ? out
											    : NULL;
}
