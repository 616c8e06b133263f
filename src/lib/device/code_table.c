/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of kernels in the process: kept over sessions, each as it stands in a session's code
 * area, as many as that area holds. A running session holds a copy of the first ones:
 * header->code_bytes of them. Everything in here is under the session lock.
 */
#include "brick/queue.h"

#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "base/hash_index.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "brick/error.h"
#include "lib/device/code_table.h"

enum {
	MAX_CODES = 8192,
	SLOTS = 2 * MAX_CODES, /* of the index; a power of two */
	MAX_TEXT = 4096,       /* of a name or path */
	CUT = 1,	       /* brick_session_code.flags */
};

struct code {
	struct brick_session_code *entry; /* with its texts and padding */
	uint32_t bytes;
};

static struct code codes[MAX_CODES];
static struct hash_index_slot slots[SLOTS];
static struct hash_index by_hash = {.slots = slots, .capacity = SLOTS, .is_fixed = 1};
static uint32_t total, total_bytes;

static int is_known(uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&by_hash, &probe)) != HASH_INDEX_NONE;)
		if (codes[i].entry->hash == hash)
			return 1;
	return 0;
}

/* Lay out an entry of at most `capacity` bytes; NULL: no memory, or not even its head fits. */
static struct brick_session_code *make_entry(uint64_t hash, const char *source, size_t bytes,
	const char *name, const char *path, uint32_t capacity, uint32_t *entry_bytes)
{
	struct brick_session_code head = {
		.hash = hash,
		.name_bytes = name ? (uint32_t)utf8_cut(name, MAX_TEXT) : 0,
		.path_bytes = path ? (uint32_t)utf8_cut(path, MAX_TEXT) : 0,
	};
	uint64_t used = sizeof head + head.name_bytes + head.path_bytes;

	if (used > capacity)
		return NULL;
	head.flags = bytes > capacity - used ? CUT : 0;
	head.source_bytes = (uint32_t)(head.flags ? capacity - used : bytes);
	*entry_bytes = (uint32_t)(used + head.source_bytes + 7) & ~7u;
	char *at = calloc(1, *entry_bytes);
	if (!at)
		return NULL;
	memcpy(at, &head, sizeof head);
	if (head.name_bytes)
		memcpy(at + sizeof head, name, head.name_bytes);
	if (head.path_bytes)
		memcpy(at + sizeof head + head.name_bytes, path, head.path_bytes);
	if (head.source_bytes)
		memcpy(at + used, source, head.source_bytes);
	return (struct brick_session_code *)at;
}

/* Give the session what it does not have yet. */
static int publish(struct brick__session *s)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < total; i++) {
		uint64_t offset = s->header->code_offset + at;
		at += codes[i].bytes;
		if (at <= s->header->code_bytes)
			continue;
		int error = brick__shared_reserve(&s->file, offset, codes[i].bytes);
		if (error)
			return error;
		memcpy(brick__at(s, offset), codes[i].entry, codes[i].bytes);
		__atomic_store_n(&s->header->code_bytes, at, __ATOMIC_RELEASE);
	}
	return 0;
}

void brick__codes_publish(struct brick__session *s)
{
	s->header->code_bytes = 0;
	if (publish(s))
		s->header->ledger.table_full++;
}

static int add(uint64_t hash, const char *source, size_t bytes, const char *name, const char *path)
{
	if (is_known(hash))
		return 0;
	if (total == MAX_CODES || hash_index_reserve(&by_hash))
		return BRICK_EFULL;
	struct code *code = &codes[total];
	code->entry = make_entry(
		hash, source, bytes, name, path, BRICK_CODE_BYTES - total_bytes, &code->bytes);
	if (!code->entry)
		return BRICK_EFULL;
	total_bytes += code->bytes;
	hash_index_add(&by_hash, hash, total++);
	return code->entry->flags & CUT ? BRICK_EFULL : 0;
}

uint64_t brick_code_hash(const void *text, size_t bytes)
{
	return fnv1a(text, bytes);
}

uint64_t brick_code_register(const char *source, size_t bytes, const char *name, const char *path)
{
	KEEP_ERRNO();
	uint64_t hash = brick_code_hash(source, source ? bytes : 0);

	if (!source)
		return hash;
	BETWEEN(brick__session_lock, brick__session_unlock);
	int error = add(hash, source, bytes, name, path);
	struct brick__session *s = &brick__session;
	if (s->header && s->header->code_bytes < total_bytes && publish(s))
		error = BRICK_EFULL;
	if (s->header && error)
		s->header->ledger.table_full++;
	return hash;
}
