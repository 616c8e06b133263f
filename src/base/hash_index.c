/* SPDX-License-Identifier: Apache-2.0 */
/* Linear probing, at most three quarters taken. Slots keep the hash, so growing needs no keys. */
#include "base/hash_index.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 16, MAX_SLOTS = 1u << 31 };

void hash_index_fini(struct hash_index *index)
{
	if (!index->is_fixed)
		free(index->slots);
	*index = (struct hash_index){0};
}

static void hash_index_put(struct hash_index *index, struct hash_index_slot slot)
{
	uint32_t at = slot.hash;

	while (index->slots[at & (index->capacity - 1)].entry)
		at++;
	index->slots[at & (index->capacity - 1)] = slot;
	index->count++;
}

int hash_index_reserve(struct hash_index *index)
{
	struct hash_index larger = {
		.capacity = index->capacity ? 2 * index->capacity : FIRST_SLOTS};

	if (index->count < index->capacity / 4 * 3)
		return 0;
	if (index->is_fixed)
		return -ENOSPC;
	larger.slots =
		index->capacity < MAX_SLOTS ? calloc(larger.capacity, sizeof(*larger.slots)) : NULL;
	if (!larger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->capacity; i++)
		if (index->slots[i].entry)
			hash_index_put(&larger, index->slots[i]);
	free(index->slots);
	*index = larger;
	return 0;
}

int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t entry)
{
	int error = entry == HASH_INDEX_NONE ? -ENOSPC : hash_index_reserve(index);

	if (!error)
		hash_index_put(index, (struct hash_index_slot){hash_probe(hash).hash, entry + 1});
	return error;
}
