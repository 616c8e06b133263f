/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of text that the exporters share. Any thread. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/*
 * A JSON string with its quotes; what is not UTF-8 becomes U+FFFD, what acts on terminals (utf8.h)
 * its escape. NULL is "".
 */
void text_json(FILE *out, const char *text);

/* Decimal digits; much faster than printf. */
void text_unsigned(FILE *out, uint64_t value);

/* Name of an enum brick_source; "unknown" for others. */
const char *text_source(uint32_t source);

/* Name of an enum brick_kernel_kind; "other" for others. */
const char *text_kernel_kind(uint32_t kind);
