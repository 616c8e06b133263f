/* SPDX-License-Identifier: Apache-2.0 */
/* The slow half of reading varints: more than two bytes, or near the end of a message. */
#include "base/pb_read.h"

const uint8_t *pb_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	uint64_t result = 0;

	for (unsigned shift = 0; shift < 70 && at < end; shift += 7) {
		uint8_t byte = *at++;
		if (shift < 64)
			result |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = result;
			return at;
		}
	}
	return NULL;
}
