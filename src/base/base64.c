/* SPDX-License-Identifier: Apache-2.0 */
/* Three bytes are four characters. */
#include "base/base64.h"

char *base64_write(char *to, const uint8_t *from, size_t bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < bytes; i += 3) {
		size_t n = bytes - i < 3 ? bytes - i : 3;
		uint32_t word = (uint32_t)from[i] << 16;
		word |= n > 1 ? (uint32_t)from[i + 1] << 8 : 0;
		word |= n > 2 ? from[i + 2] : 0;
		for (size_t k = 0; k < 4; k++)
			*to++ = k <= n ? digits[word >> (18 - 6 * k) & 63] : '=';
	}
	return to;
}
