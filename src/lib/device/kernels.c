/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the process and their sources: append-only tables with an index by content. Like the
 * registry they outlive sessions. Running sessions hold copies of their beginning, which every
 * registration extends: header->kernel_count entries, header->code_bytes of sources. Both tables
 * are under the session lock. A command that was launched outside of all bricks gets a brick named
 * after its kernel.
 */
#include "lib/device/kernels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "base/hash_index.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "brick/error.h"
#include "brick/queue.h"
#include "lib/session/registry_tables.h"

/* Sources. */

enum {
	MAX_CODES = 8192,
	CODE_SLOTS = 2 * MAX_CODES, /* of the index; a power of two */
	MAX_TEXT = 4096,	    /* of a name or path */
	CUT = 1,		    /* brick_session_code.flags */
};

struct code {
	struct brick_session_code *entry; /* with its texts and padding */
	uint32_t bytes;
};

static struct code codes[MAX_CODES];
static struct hash_index_slot code_slots[CODE_SLOTS];
static struct hash_index codes_by_hash = {
	.slots = code_slots, .capacity = CODE_SLOTS, .is_fixed = 1};
static uint32_t code_count, code_total_bytes;

static bool is_known_code(uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&codes_by_hash, &probe)) != HASH_INDEX_NONE;)
		if (codes[i].entry->hash == hash)
			return true;
	return false;
}

/* Lay out an entry of at most `capacity` bytes; NULL: no memory, or not even its head fits. */
static struct brick_session_code *make_code(uint64_t hash, const char *source, size_t bytes,
	const char *name, const char *path, uint32_t capacity, uint32_t *entry_bytes)
{
	struct brick_session_code head = {
		.hash = hash,
		.name_bytes = name ? (uint32_t)utf8_cut(name, MAX_TEXT) : 0,
		.path_bytes = path ? (uint32_t)utf8_cut(path, MAX_TEXT) : 0,
	};
	uint64_t used = sizeof(head) + head.name_bytes + head.path_bytes;

	if (used > capacity)
		return NULL;
	head.flags = bytes > capacity - used ? CUT : 0;
	head.source_bytes = (uint32_t)(head.flags ? capacity - used : bytes);
	*entry_bytes = (uint32_t)(used + head.source_bytes + 7) & ~7u;
	char *at = calloc(1, *entry_bytes);
	if (!at)
		return NULL;
	memcpy(at, &head, sizeof(head));
	if (head.name_bytes)
		memcpy(at + sizeof(head), name, head.name_bytes);
	if (head.path_bytes)
		memcpy(at + sizeof(head) + head.name_bytes, path, head.path_bytes);
	if (head.source_bytes)
		memcpy(at + used, source, head.source_bytes);
	return (struct brick_session_code *)at;
}

/* Gives the session the entries that it lacks. */
static int publish_codes(struct brick_session *s)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < code_count; i++) {
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

static int kernels_add_code(
	uint64_t hash, const char *source, size_t bytes, const char *name, const char *path)
{
	if (is_known_code(hash))
		return 0;
	if (code_count == MAX_CODES || hash_index_reserve(&codes_by_hash))
		return BRICK_EFULL;
	struct code *code = &codes[code_count];
	code->entry = make_code(
		hash, source, bytes, name, path, BRICK_CODE_BYTES - code_total_bytes, &code->bytes);
	if (!code->entry)
		return BRICK_EFULL;
	code_total_bytes += code->bytes;
	hash_index_add(&codes_by_hash, hash, code_count++);
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
	int error = kernels_add_code(hash, source, bytes, name, path);
	for (struct brick_session *s = &brick__session; s; s = s->next)
		if (s->header && ((s->header->code_bytes < code_total_bytes && publish_codes(s)) ||
					 (error && s == brick__session_here())))
			s->header->ledger.table_full++;
	return hash;
}

/* Kernels. */

enum {
	PER_CHUNK = 256, /* 64 KiB: the session's file also gets memory in such steps */
	CHUNKS = BRICK_MAX_KERNELS / PER_CHUNK,
	KERNEL_SLOTS = 2 * BRICK_MAX_KERNELS, /* of the index; a power of two */
};

static struct brick_session_kernel *chunks[CHUNKS];
static struct hash_index_slot kernel_slots[KERNEL_SLOTS];
static struct hash_index kernels_by_content = {
	.slots = kernel_slots, .capacity = KERNEL_SLOTS, .is_fixed = 1};
static uint32_t kernel_total = 1; /* index 0 means "not known" */

_Static_assert(BRICK_MAX_KERNELS <= UINT16_MAX + 1, "indices fit 16 bits, as a record's brick");

static struct brick_session_kernel *kernel_at(uint32_t index)
{
	return &chunks[index / PER_CHUNK][index % PER_CHUNK];
}

/* The kernel that is there already, or 0. */
static uint32_t find_kernel(const struct brick_session_kernel *kernel, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&kernels_by_content, &probe)) != HASH_INDEX_NONE;)
		if (!memcmp(kernel_at(i), kernel, sizeof(*kernel)))
			return i;
	return 0;
}

/*
 * Gives the session the sources that it lacks. A count covers only bytes with memory behind them.
 */
static int publish_kernels(struct brick_session *s)
{
	uint32_t from = s->header->kernel_count;

	for (uint32_t i = from; i < kernel_total; i++) {
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
		memcpy(brick__at(s, offset), kernel_at(i), sizeof(struct brick_session_kernel));
		__atomic_store_n(&s->header->kernel_count, i + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

void brick__kernels_publish(struct brick_session *s)
{
	s->header->kernel_count = 1;
	s->header->code_bytes = 0;
	if (publish_kernels(s))
		s->header->ledger.table_full++;
	if (publish_codes(s))
		s->header->ledger.table_full++;
}

static uint32_t kernels_add(const struct brick_session_kernel *kernel, uint64_t hash)
{
	struct brick_session_kernel **chunk = &chunks[kernel_total / PER_CHUNK];

	if (kernel_total >= BRICK_MAX_KERNELS || hash_index_reserve(&kernels_by_content))
		return 0;
	if (!*chunk)
		*chunk = calloc(PER_CHUNK, sizeof(**chunk));
	if (!*chunk)
		return 0;
	*kernel_at(kernel_total) = *kernel;
	hash_index_add(&kernels_by_content, hash, kernel_total);
	return kernel_total++;
}

uint32_t brick_kernel_register(const struct brick_kernel *kernel)
{
	struct brick_kernel own = BRICK_KERNEL_INIT;
	KEEP_ERRNO();

	if (!kernel || sized_read(&own, sizeof(own), kernel) || own.reserved)
		return 0;
	struct brick_session_kernel entry = {
		.code = own.code,
		.shared_bytes = brick_kernel_shared(own.shared_bytes, own.dynamic_shared),
		.kind = own.kind,
		.registers = own.registers,
	};
	memcpy(entry.grid, own.grid, sizeof(entry.grid));
	memcpy(entry.block, own.block, sizeof(entry.block));
	utf8_field(entry.backend, sizeof(entry.backend), own.backend);
	utf8_field(entry.name, sizeof(entry.name), own.name);
	BETWEEN(brick__session_lock, brick__session_unlock);
	uint64_t hash = brick_code_hash(&entry, sizeof(entry));
	uint32_t index = find_kernel(&entry, hash);
	if (!index)
		index = kernels_add(&entry, hash);
	for (struct brick_session *s = &brick__session; s; s = s->next) {
		bool is_here = s == brick__session_here(), fails = is_here && !index;
		if (!s->header)
			continue;
		if (s->header->kernel_count < kernel_total && publish_kernels(s))
			fails = true;
		s->header->ledger.table_full += fails;
		index = fails && is_here ? 0 : index;
	}
	return index;
}

/* The name of a registered kernel, cut. */
static int kernel_name(uint32_t kernel, char *name, size_t bytes)
{
	int known = 0;

	utf8_field(name, bytes, NULL);
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (kernel && kernel < kernel_total) {
		utf8_field(name, bytes, kernel_at(kernel)->name);
		known = 1;
	}
	return known;
}

/* Bricks of kernels; registering a name twice gives the same id, so this needs no lock. */

enum { MAX_KERNEL_BRICKS = 700 }; /* then the brick "Kernel" stands for the rest */

static uint16_t
	brick_of_kernel[BRICK_MAX_KERNELS]; /* brick of a kernel + 1; 0: not asked for yet */
static int shared_brick = -1;
static uint32_t category, kernel_bricks;

/* First of all, so that an entry is left for the brick that stands for the rest. */
static void kernels_prepare(void)
{
	if (__atomic_load_n(&shared_brick, __ATOMIC_ACQUIRE) >= 0)
		return;
	int device = brick_category_register("Device");
	uint32_t own = device < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)device;
	__atomic_store_n(&category, own, __ATOMIC_RELAXED);
	__atomic_store_n(&shared_brick, brick__register("Kernel", own), __ATOMIC_RELEASE);
}

static int register_brick(uint32_t kernel)
{
	char name[sizeof((struct brick_session_brick *)0)->name];
	int before = (int)brick_count();

	if (!kernel_name(kernel, name, sizeof(name)) || !*name)
		return -1;
	int id = brick_lookup(name);
	if (id >= 0 || __atomic_load_n(&kernel_bricks, __ATOMIC_RELAXED) >= MAX_KERNEL_BRICKS)
		return id;
	id = brick__register(name, __atomic_load_n(&category, __ATOMIC_RELAXED));
	if (id >= before)
		__atomic_add_fetch(&kernel_bricks, 1, __ATOMIC_RELAXED);
	return id;
}

uint32_t brick__kernel_brick(uint32_t kernel)
{
	uint16_t *entry = &brick_of_kernel[kernel < BRICK_MAX_KERNELS ? kernel : 0];
	uint16_t id = __atomic_load_n(entry, __ATOMIC_RELAXED);

	if (id)
		return id - 1u;
	kernels_prepare();
	int found = register_brick(kernel);
	if (found < 0)
		found = __atomic_load_n(&shared_brick, __ATOMIC_RELAXED);
	if (found < 0)
		return BRICK_NONE;
	__atomic_store_n(entry, (uint16_t)(found + 1), __ATOMIC_RELAXED);
	return (uint32_t)found;
}
