/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as text (RFC 4648, with padding). Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number of characters that `bytes` bytes become. */
static inline size_t base64_length(size_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

/* Writes base64_length(bytes) characters and no NUL; returns where they end. */
char *base64_write(char *to, const uint8_t *from, size_t bytes);
