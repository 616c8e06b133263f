/* SPDX-License-Identifier: Apache-2.0 */
/* A module is five words of header and then instructions: length << 16 | opcode, operands. */
#include "attach/vulkan/spirv.h"

#include <string.h>
#include "base/fnv.h"

enum {
	MAGIC = 0x07230203,
	HEADER_WORDS = 5,
	OP_ENTRY_POINT = 15,
	OP_EXECUTION_MODE = 16,
	MODE_LOCAL_SIZE = 17,
};

/* Does a literal string, NUL-terminated and padded to words, equal name? */
static int equals(const uint32_t *words, size_t count, const char *name)
{
	size_t bytes = count * sizeof *words, n = strlen(name);

	return n < bytes && !memcmp(words, name, n + 1);
}

void spirv_entry_find(
	struct spirv_entry *entry, const uint32_t *words, size_t count, const char *name)
{
	uint32_t id = 0;

	memset(entry, 0, sizeof *entry);
	if (count < HEADER_WORDS || words[0] != MAGIC)
		return;
	for (size_t at = HEADER_WORDS; at < count;) {
		const uint32_t *op = words + at;
		size_t length = op[0] >> 16;
		if (!length || length > count - at)
			return;
		uint32_t code = op[0] & 0xffff;
		if (code == OP_ENTRY_POINT && length > 3 && equals(op + 3, length - 3, name)) {
			id = op[2];
			entry->found = 1;
		}
		if (code == OP_EXECUTION_MODE && length >= 6 && entry->found && op[1] == id &&
			op[2] == MODE_LOCAL_SIZE)
			memcpy(entry->size, op + 3, sizeof entry->size);
		at += length;
	}
}

uint64_t spirv_hash(const uint32_t *words, size_t count)
{
	return fnv1a(words, count * sizeof *words);
}
