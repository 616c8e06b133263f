/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds entries of the caller's array by a hash of their keys, which may have any type. The index
 * has the hash and the position of each entry; the caller compares keys. All zero is empty. Entries
 * cannot be removed. One thread at a time; looking up changes nothing.
 *
 *	struct hash_probe probe = hash_probe(hash);
 *
 *	for (uint32_t i; (i = hash_index_next(&index, &probe)) != HASH_INDEX_NONE;)
 *		if (!strcmp(rows[i].name, name))
 *			return i;
 *
 * A key that is not there is appended to the array and added: hash_index_add(&index, hash, i).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX

struct hash_index {
	struct hash_index_slot {
		uint32_t hash;	/* both halves of the 64 bits, combined */
		uint32_t entry; /* position + 1; 0: the slot is empty */
	} * slots;
	uint32_t capacity; /* slots; a power of two, or 0 */
	uint32_t count;	   /* slots that are taken */
	bool is_fixed;	   /* the slots are the caller's, all zero at first; none are allocated */
};

struct hash_probe {
	uint32_t hash, at;
};

void hash_index_fini(struct hash_index *index);

/*
 * Make room for one more entry. 0, -ENOMEM, or -ENOSPC (is_fixed); the index is as before after an
 * error.
 */
int hash_index_reserve(struct hash_index *index);

/* Add an entry that is not there yet. Errors of hash_index_reserve(); after that call, none. */
int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t entry);

/* Begin to look for a hash. */
static inline struct hash_probe hash_probe(uint64_t hash)
{
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);

	return (struct hash_probe){folded, folded};
}

/* The position of the next entry with this hash; HASH_INDEX_NONE: there are no more. */
static inline uint32_t hash_index_next(const struct hash_index *index, struct hash_probe *probe)
{
	while (index->capacity) {
		const struct hash_index_slot *slot =
			&index->slots[probe->at++ & (index->capacity - 1)];
		if (!slot->entry)
			break;
		if (slot->hash == probe->hash)
			return slot->entry - 1;
	}
	return HASH_INDEX_NONE;
}
