/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1a, 64 bits (Fowler, Noll, Vo): the hash of texts, and of kernel sources. Header only; any
 * thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FNV1A_BASIS 0xcbf29ce484222325ull
#define FNV1A_PRIME 0x100000001b3ull

/* Continue a hash with more bytes; begin with FNV1A_BASIS. */
static inline uint64_t fnv1a_add(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ p[i]) * FNV1A_PRIME;
	return hash;
}

static inline uint64_t fnv1a(const void *bytes, size_t count)
{
	return fnv1a_add(FNV1A_BASIS, bytes, count);
}

/* Hashes a text without its terminator. */
static inline uint64_t fnv1a_text(const char *text)
{
	uint64_t hash = FNV1A_BASIS;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * FNV1A_PRIME;
	return hash;
}
