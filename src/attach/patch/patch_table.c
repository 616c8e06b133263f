/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of jumps (table.h). */
#include "attach/patch/patch_table.h"

#include <string.h>

enum { MAX_TABLE = 1 << 16 };

int table_walk(const struct image *image, uint64_t table, table_fn each, void *argument)
{
	const struct image_part *at = image_part_at(image, table, 1);
	int answer = 0;

	if (!at || at->is_code)
		return 0;
	const uint8_t *bytes = at->data + (table - at->address);
	uint64_t available = at->bytes - (table - at->address);
	for (size_t i = 0; i < MAX_TABLE && (i + 1) * 4 <= available && !answer; i++) {
		int32_t distance;
		memcpy(&distance, bytes + i * 4, sizeof distance);
		uint64_t target = table + (uint64_t)(int64_t)distance;
		const struct image_part *part = image_part_at(image, target, 1);
		if (!part || !part->is_code)
			return 0;
		answer = each(argument, target);
	}
	return answer;
}
