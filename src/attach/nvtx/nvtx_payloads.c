/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extension of payloads: structures whose layout a program registers, as NCCL does. We take a
 * size in bytes from them, by the name of its entry.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "attach/annotate/annotations.h"
#include "attach/annotate/fixed_map.h"
#include "attach/annotate/ranges.h"
#include "attach/nvtx/nvtx_calls.h"
#include "attach/nvtx/nvtx_handles.h"
#include "base/scope.h"
#include "brick/registry.h"

enum { CALLS = 8, MAX_OFFSET = 1 << 16 };
static const uint64_t first_dynamic_schema = UINT64_C(1) << 32;

static intptr_t nvtx_payloads_others[CALLS];
static pthread_mutex_t nvtx_payloads_lock = PTHREAD_MUTEX_INITIALIZER; /* for new entries */
LOCK_OVER_FORKS(nvtx_payloads_lock)
static struct fixed_map_entry nvtx_payloads_entries[1 << 10];
static struct fixed_map schemas =
	FIXED_MAP(nvtx_payloads_entries); /* -> width << 32 | offset + 1 */

typedef uint64_t (*register_fn)(void *, const struct nvtx_schema *);
typedef void (*mark_fn)(void *, const struct nvtx_payload *, size_t);
typedef int (*level_fn)(void *, const struct nvtx_payload *, size_t);
typedef uint64_t (*start_fn)(void *, const struct nvtx_payload *, size_t);
typedef void (*end_fn)(void *, uint64_t, const struct nvtx_payload *, size_t);

/* The bytes of a type of the schema; 0: it is no number of a known width. */
static uint32_t nvtx_payloads_width_of(uint64_t type)
{
	static const uint8_t widths[] = {0, 1, 1, 2, 2, sizeof(int), sizeof(int), sizeof(long),
		sizeof(long), sizeof(long long), sizeof(long long), 1, 1, 2, 2, 4, 4, 8, 8,
		sizeof(float), sizeof(double), sizeof(long double), sizeof(size_t), sizeof(void *)};
	return type < sizeof(widths) ? widths[type] : 0;
}

static bool is_unsigned(uint64_t type)
{
	enum { UINT = 6, ULONG = 8, ULONGLONG = 10, UINT32 = 16, UINT64 = 18, SIZE = 22 };
	return type == UINT || type == ULONG || type == ULONGLONG || type == UINT32 ||
	       type == UINT64 || type == SIZE;
}

/* The place of the first entry that is a number of bytes; 0: there is none, or it is not known. */
static uint64_t place_of_bytes(const struct nvtx_schema *schema)
{
	uint64_t at = 0;

	for (size_t i = 0; schema->entries && i < schema->entry_count; i++) {
		const struct nvtx_schema_entry *entry = &schema->entries[i];
		uint64_t width = entry->flags ? 0 : nvtx_payloads_width_of(entry->type);
		if (entry->offset)
			at = entry->offset;
		else if (width)
			at = (at + width - 1) / width * width;
		if (!width && !entry->offset)
			return 0; /* entries after it are not where they seem */
		if (at > MAX_OFFSET)
			return 0;
		if (width && is_unsigned(entry->type) && entry->name &&
			strstr(entry->name, "[bytes]"))
			return width << 32 | (at + 1);
		at += width;
	}
	return 0;
}

/* Static ids are a domain's own. */
static uint64_t nvtx_payloads_key_of(const struct annotation_domain *domain, uint64_t id)
{
	return hash_add(hash_u64(id < first_dynamic_schema ? domain->number + 1 : 0), id);
}

uint64_t nvtx_payload_bytes(const void *domain, const struct nvtx_payload *payloads, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t place =
			fixed_map_get(&schemas, nvtx_payloads_key_of(domain, payloads[i].schema));
		uint64_t width = place >> 32, at = (uint32_t)place - 1, wide = 0;
		uint32_t narrow = 0;
		if (!place || !payloads[i].data ||
			(payloads[i].bytes != SIZE_MAX && at + width > payloads[i].bytes))
			continue;
		const char *from = (const char *)payloads[i].data + at;
		if (width == sizeof(wide))
			memcpy(&wide, from, sizeof(wide));
		else
			memcpy(&narrow, from, sizeof(narrow));
		return width == sizeof(wide) ? wide : narrow;
	}
	return 0;
}

#define OTHER(call, type) ((type)nvtx_payloads_others[call])

static uint64_t schema_register(void *handle, const struct nvtx_schema *schema)
{
	static uint64_t next;
	uint64_t id = nvtx_payloads_others[NVTX_SCHEMA_REGISTER]
			      ? OTHER(NVTX_SCHEMA_REGISTER, register_fn)(handle, schema)
			      : 0;

	if (!schema)
		return id;
	if (!id)
		id = schema->fields & NVTX_SCHEMA_ID && schema->id
			     ? schema->id
			     : first_dynamic_schema +
				       __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
	uint64_t place = place_of_bytes(schema);
	HOLD(&nvtx_payloads_lock);
	if (place)
		fixed_map_put(&schemas, nvtx_payloads_key_of(nvtx_domain_of(handle), id), place);
	return id;
}

static const struct annotation *nvtx_payloads_unnamed(const struct annotation_domain *domain)
{
	return annotation_find(domain, NULL, BRICK_CATEGORY_OTHER);
}

static void mark_payload(void *handle, const struct nvtx_payload *payloads, size_t count)
{
	if (nvtx_payloads_others[NVTX_MARK_PAYLOAD])
		OTHER(NVTX_MARK_PAYLOAD, mark_fn)(handle, payloads, count);
	ranges_mark(nvtx_payloads_unnamed(nvtx_domain_of(handle)));
}

static int push_payload(void *handle, const struct nvtx_payload *payloads, size_t count)
{
	struct annotation_domain *domain = nvtx_domain_of(handle);
	int theirs = nvtx_payloads_others[NVTX_PUSH_PAYLOAD]
			     ? OTHER(NVTX_PUSH_PAYLOAD, level_fn)(handle, payloads, count)
			     : -1;
	int ours = ranges_push(domain, nvtx_payloads_unnamed(domain));

	if (payloads)
		ranges_bytes(domain, nvtx_payload_bytes(domain, payloads, (uint32_t)count));
	return theirs < 0 ? ours : theirs;
}

static int pop_payload(void *handle, const struct nvtx_payload *payloads, size_t count)
{
	struct annotation_domain *domain = nvtx_domain_of(handle);
	uint64_t bytes = payloads ? nvtx_payload_bytes(domain, payloads, (uint32_t)count) : 0;

	if (bytes)
		ranges_bytes(domain, bytes);
	int ours = ranges_pop(domain);
	int theirs = nvtx_payloads_others[NVTX_POP_PAYLOAD]
			     ? OTHER(NVTX_POP_PAYLOAD, level_fn)(handle, payloads, count)
			     : -1;
	return theirs < 0 ? ours : theirs;
}

/* Its number is the other tool's, if that has one: nvtxRangeEnd() may end it, too. */
static uint64_t start_payload(void *handle, const struct nvtx_payload *payloads, size_t count)
{
	uint64_t theirs = nvtx_payloads_others[NVTX_START_PAYLOAD]
				  ? OTHER(NVTX_START_PAYLOAD, start_fn)(handle, payloads, count)
				  : 0;
	return nvtx_range_started(
		theirs, ranges_start(nvtx_payloads_unnamed(nvtx_domain_of(handle))));
}

static void end_payload(
	void *handle, uint64_t number, const struct nvtx_payload *payloads, size_t count)
{
	nvtx_range_ended(number);
	if (nvtx_payloads_others[NVTX_END_PAYLOAD])
		OTHER(NVTX_END_PAYLOAD, end_fn)(handle, number, payloads, count);
}

static uint8_t is_enabled(void *handle)
{
	return 1;
}

void nvtx_payloads_take(const struct nvtx_segment *segment)
{
	static const intptr_t ours[CALLS] = {
		[NVTX_SCHEMA_REGISTER] = (intptr_t)schema_register,
		[NVTX_MARK_PAYLOAD] = (intptr_t)mark_payload,
		[NVTX_PUSH_PAYLOAD] = (intptr_t)push_payload,
		[NVTX_POP_PAYLOAD] = (intptr_t)pop_payload,
		[NVTX_START_PAYLOAD] = (intptr_t)start_payload,
		[NVTX_END_PAYLOAD] = (intptr_t)end_payload,
		[NVTX_IS_ENABLED] = (intptr_t)is_enabled,
	};

	for (size_t i = 0; i < segment->count && i < CALLS; i++) {
		intptr_t theirs = segment->slots[i];
		if (!ours[i])
			continue;
		if (theirs > 1) /* 0 and 1: nobody's */
			nvtx_payloads_others[i] = theirs;
		segment->slots[i] = ours[i];
	}
}
