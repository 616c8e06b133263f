/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of numbers and pointers, and of several values in turn. Header only; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 2^64 divided by the golden ratio (Knuth, volume 3, 6.4): hashes of neighbours are far apart. */
#define HASH_GOLDEN 0x9e3779b97f4a7c15ull

/*
 * Continue a hash with one more number; begin with 0. All bits of the result depend on all bits
 * of the number.
 */
static inline uint64_t hash_add(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value ^ value >> 32) * HASH_GOLDEN;
	return hash ^ hash >> 32;
}

static inline uint64_t hash_u64(uint64_t key)
{
	return hash_add(0, key);
}

static inline uint64_t hash_pointer(const void *key)
{
	return hash_add(0, (uint64_t)(uintptr_t)key);
}

/* Hashes bytes in words: for tables in memory, since the result depends on the order in words. */
static inline uint64_t hash_bytes(const void *bytes, size_t count)
{
	const char *at = (const char *)bytes;
	uint64_t hash = count, word;

	for (; count >= sizeof(word); at += sizeof(word), count -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash_add(hash, word);
	}
	word = 0;
	memcpy(&word, at, count);
	return hash_add(hash, word);
}
