/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as in RFC 4180, but with control characters as visible escapes, so that a row is a line.
 * Write a row's fields in turn, then csv_end(). One stream at a time. Main thread.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

void csv_text(FILE *out, const char *s);    /* NULL: empty */
void csv_number(FILE *out, uint64_t value); /* ANALYSIS_UNKNOWN: empty */
void csv_integer(FILE *out, int64_t value);
void csv_ratio(FILE *out, double value); /* negative: empty */
void csv_end(FILE *out);
