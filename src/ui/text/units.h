/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for people: three significant digits and a unit. JSON and CSV never come through here.
 * Each returns `out`; unknown values give "-". Any thread.
 */
#pragma once

#include <stdint.h>

enum { UNITS_BYTES = 24 }; /* a buffer that holds any of these */

/* "12.3µs" ("12.3us" where the locale is not UTF-8); ANALYSIS_UNKNOWN is unknown. */
char *units_time(char out[UNITS_BYTES], uint64_t ns);

/* "4096", "1.23M". */
char *units_count(char out[UNITS_BYTES], uint64_t count);

/* "1.23GB", powers of 1000. */
char *units_bytes(char out[UNITS_BYTES], uint64_t bytes);

/* Three significant digits, no unit; below 1 down to three decimals, "<0.001" below these; negative
 * is unknown. */
char *units_number(char out[UNITS_BYTES], double value);

/* Of a share from 0 to 1: "12.3%"; "<0.1%" for what would look like nothing; negative is unknown.
 */
char *units_percent(char out[UNITS_BYTES], double share);
