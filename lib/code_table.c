/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of kernels in the process: kept over sessions, each as it stands in a session's code
 * area, as many as that area has room for. A running session holds a copy of the first ones:
 * header->code_bytes of them. Everything in here is under the session lock.
 */
#include "brick/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "base/utf8.h"
#include "brick/error.h"
#include "lib/code_table.h"
#include "lib/sys/sys.h"

enum {
	MOST_CODES = 8192,
	SLOTS = 2 * MOST_CODES, /* of the index; a power of two */
	MOST_TEXT = 4096,	/* of a name or path */
	CUT = 1,		/* brick_session_code.flags */
};

struct code {
	struct brick_session_code *entry; /* with its texts and padding */
	uint32_t bytes;
};

static struct code codes[MOST_CODES];
static uint16_t slots[SLOTS]; /* code + 1; 0: free */
static uint32_t total, total_bytes;

static uint32_t find_slot(uint64_t hash)
{
	uint32_t slot = (uint32_t)(hash ^ hash >> 32) & (SLOTS - 1);

	while (slots[slot] && codes[slots[slot] - 1].entry->hash != hash)
		slot = (slot + 1) & (SLOTS - 1);
	return slot;
}

/* Lay out an entry of at most `room` bytes; NULL when there is no memory or not even so much. */
static struct brick_session_code *make_entry(uint64_t hash, const char *source, size_t bytes,
	const char *name, const char *path, uint32_t room, uint32_t *entry_bytes)
{
	struct brick_session_code head = {
		.hash = hash,
		.name_bytes = name ? (uint32_t)utf8_cut(name, MOST_TEXT) : 0,
		.path_bytes = path ? (uint32_t)utf8_cut(path, MOST_TEXT) : 0,
	};
	uint64_t used = sizeof head + head.name_bytes + head.path_bytes;

	if (used > room)
		return NULL;
	head.flags = bytes > room - used ? CUT : 0;
	head.source_bytes = (uint32_t)(head.flags ? room - used : bytes);
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
	uint32_t slot = find_slot(hash);

	if (slots[slot])
		return 0;
	if (total == MOST_CODES)
		return BRICK_EFULL;
	struct code *code = &codes[total];
	code->entry = make_entry(
		hash, source, bytes, name, path, BRICK_CODE_BYTES - total_bytes, &code->bytes);
	if (!code->entry)
		return BRICK_EFULL;
	total_bytes += code->bytes;
	slots[slot] = (uint16_t)++total;
	return code->entry->flags & CUT ? BRICK_EFULL : 0;
}

uint64_t brick_code_hash(const void *text, size_t bytes)
{
	return fnv1a(text, bytes);
}

uint64_t brick_code_register(const char *source, size_t bytes, const char *name, const char *path)
{
	int saved = errno;
	uint64_t hash = brick_code_hash(source, source ? bytes : 0);

	if (!source)
		return hash;
	brick__session_lock();
	int error = add(hash, source, bytes, name, path);
	struct brick__session *s = &brick__session;
	if (s->header && s->header->code_bytes < total_bytes && publish(s))
		error = BRICK_EFULL;
	if (s->header && error)
		s->header->ledger.table_full++;
	brick__session_unlock();
	errno = saved;
	return hash;
}
