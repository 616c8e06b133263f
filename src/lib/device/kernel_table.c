/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the process: an append-only table with an index by content, kept over sessions as the
 * registry is. A running session holds a copy of its beginning: header->kernel_count entries, which
 * every registration extends. Everything in here is under the session lock.
 */
#include "brick/queue.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash_index.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "lib/device/kernel_table.h"

enum {
	PER_CHUNK = 256, /* 64 KiB: also what the session's file gets memory for at a time */
	CHUNKS = BRICK_MAX_KERNELS / PER_CHUNK,
	SLOTS = 2 * BRICK_MAX_KERNELS, /* of the index; a power of two */
};

static struct brick_session_kernel *chunks[CHUNKS];
static struct hash_index_slot slots[SLOTS];
static struct hash_index by_content = {.slots = slots, .capacity = SLOTS, .is_fixed = 1};
static uint32_t total = 1; /* index 0 means "not known" */

_Static_assert(BRICK_MAX_KERNELS <= UINT16_MAX + 1, "indices fit 16 bits, as a record's brick");

static struct brick_session_kernel *entry_at(uint32_t index)
{
	return &chunks[index / PER_CHUNK][index % PER_CHUNK];
}

static struct brick_session_kernel describe(const struct brick_kernel *from)
{
	struct brick_session_kernel k = {
		.code = from->code,
		.shared_bytes = from->shared_bytes,
		.kind = from->kind,
		.registers = from->registers,
	};

	memcpy(k.grid, from->grid, sizeof k.grid);
	memcpy(k.block, from->block, sizeof k.block);
	utf8_field(k.backend, sizeof k.backend, from->backend);
	utf8_field(k.name, sizeof k.name, from->name);
	return k;
}

/* The kernel that is there already, or 0. */
static uint32_t find(const struct brick_session_kernel *kernel, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&by_content, &probe)) != HASH_INDEX_NONE;)
		if (!memcmp(entry_at(i), kernel, sizeof *kernel))
			return i;
	return 0;
}

/* Give the session what it does not have yet; a count covers only what has memory behind it. */
static int publish(struct brick__session *s)
{
	uint32_t from = s->header->kernel_count;

	for (uint32_t i = from; i < total; i++) {
		uint64_t offset =
			s->header->kernel_offset + i * sizeof(struct brick_session_kernel);
		if (i == 1 || i % PER_CHUNK == 0) {
			uint64_t chunk = i / PER_CHUNK * PER_CHUNK;
			int error = brick__shared_reserve(&s->file,
				s->header->kernel_offset +
					chunk * sizeof(struct brick_session_kernel),
				PER_CHUNK * sizeof(struct brick_session_kernel));
			if (error)
				return error;
		}
		memcpy(brick__at(s, offset), entry_at(i), sizeof(struct brick_session_kernel));
		__atomic_store_n(&s->header->kernel_count, i + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

void brick__kernels_publish(struct brick__session *s)
{
	s->header->kernel_count = 1;
	if (publish(s))
		s->header->ledger.table_full++;
}

static uint32_t add(const struct brick_session_kernel *kernel, uint64_t hash)
{
	struct brick_session_kernel **chunk = &chunks[total / PER_CHUNK];

	if (total >= BRICK_MAX_KERNELS || hash_index_reserve(&by_content))
		return 0;
	if (!*chunk)
		*chunk = calloc(PER_CHUNK, sizeof **chunk);
	if (!*chunk)
		return 0;
	*entry_at(total) = *kernel;
	hash_index_add(&by_content, hash, total);
	return total++;
}

uint32_t brick_kernel_register(const struct brick_kernel *kernel)
{
	struct brick_kernel own = BRICK_KERNEL_INIT;
	KEEP_ERRNO();

	if (!kernel || sized_read(&own, sizeof own, kernel))
		return 0;
	struct brick_session_kernel entry = describe(&own);
	BETWEEN(brick__session_lock, brick__session_unlock);
	uint64_t hash = brick_code_hash(&entry, sizeof entry);
	uint32_t index = find(&entry, hash);
	if (!index)
		index = add(&entry, hash);
	struct brick__session *s = &brick__session;
	if (s->header && s->header->kernel_count < total && publish(s))
		index = 0;
	if (s->header && !index)
		s->header->ledger.table_full++;
	return index;
}

int brick__kernel_name(uint32_t kernel, char *name, size_t bytes)
{
	int known = 0;

	utf8_field(name, bytes, NULL);
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (kernel && kernel < total) {
		utf8_field(name, bytes, entry_at(kernel)->name);
		known = 1;
	}
	return known;
}
