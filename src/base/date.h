/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as text. Header only; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "base/clock_ns.h"

enum { DATE_BYTES = 40 };

/* A moment in ns since 1970, in UTC, by a format of strftime(3). NULL: it is 0, or out of bounds.
 */
static inline const char *date_text(char out[DATE_BYTES], uint64_t unix_ns, const char *format)
{
	time_t seconds = (time_t)(unix_ns / NS_PER_S);
	struct tm tm;

	return unix_ns && gmtime_r(&seconds, &tm) && strftime(out, DATE_BYTES, format, &tm) ? out
											    : NULL;
}
