/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites and kernels as JSON objects. Their text comes from a session: bytes of another process.
 * Nothing allocates.
 */
#include "lib/writer/writer_text.h"

#include <inttypes.h>
#include <stdio.h>
#include "lib/writer/format.h"
#include "lib/writer/trace_tables.h"

static size_t json_text(
	char *to, size_t capacity, const char *key, const char *from, size_t from_bytes)
{
	char text[256];
	size_t size = (size_t)snprintf(to, capacity, ",\"%s\":\"", key);

	tables_text(text, sizeof text, from, from_bytes);
	for (const char *s = text; *s && size + 8 < capacity; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			to[size++] = '\\';
		if (c < 0x20)
			size += (size_t)snprintf(to + size, capacity - size, "\\u%04x", c);
		else
			to[size++] = (char)c;
	}
	to[size++] = '"';
	return size;
}

static size_t json_count(char *to, size_t capacity, const char *key, uint64_t value)
{
	return (size_t)snprintf(to, capacity, ",\"%s\":%" PRIu64, key, value);
}

static size_t json_triple(char *to, size_t capacity, const char *key, const uint32_t *triple)
{
	return (size_t)snprintf(to, capacity, ",\"%s\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", key,
		triple[0], triple[1], triple[2]);
}

/* capacity: at least 2048. Returns the length. */
size_t writer_kernel_json(char *to, size_t capacity, const struct brick_session_kernel *kernel)
{
	static const char *const kinds[] = FORMAT_KERNEL_KINDS;
	uint32_t kind = kernel->kind < FORMAT_KERNEL_KIND_COUNT ? kernel->kind : BRICK_KERNEL_OTHER;
	size_t size = (size_t)snprintf(to, capacity, "{\"kind\":\"%s\"", kinds[kind]);

	size += json_text(to + size, capacity - size, "name", kernel->name, sizeof kernel->name);
	if (kernel->backend[0])
		size += json_text(to + size, capacity - size, "backend", kernel->backend,
			sizeof kernel->backend);
	if (kernel->grid[0])
		size += json_triple(to + size, capacity - size, "grid", kernel->grid);
	if (kernel->block[0])
		size += json_triple(to + size, capacity - size, "block", kernel->block);
	if (kernel->shared_bytes)
		size += json_count(to + size, capacity - size, "shared", kernel->shared_bytes);
	if (kernel->registers)
		size += json_count(to + size, capacity - size, "registers", kernel->registers);
	if (kernel->code)
		size += (size_t)snprintf(
			to + size, capacity - size, ",\"code\":\"%016" PRIx64 "\"", kernel->code);
	to[size++] = '}';
	to[size] = 0;
	return size;
}

/* capacity: at least 1024. Returns the length. */
size_t writer_site_json(char *to, size_t capacity, const struct brick_session_site *site)
{
	size_t size = (size_t)snprintf(to, capacity, "{\"layer\":%d", site->layer);

	if (site->operation[0])
		size += json_text(
			to + size, capacity - size, "op", site->operation, sizeof site->operation);
	if (site->label[0])
		size += json_text(
			to + size, capacity - size, "tensor", site->label, sizeof site->label);
	if (site->flags & BRICK_SITE_HAS_ELEMENTS)
		size += json_count(to + size, capacity - size, "elements", site->elements);
	if (site->flags & BRICK_SITE_HAS_BYTES)
		size += json_count(to + size, capacity - size, "bytes", site->bytes);
	if (site->flags & BRICK_SITE_HAS_FLOPS)
		size += json_count(to + size, capacity - size, "flops", site->flops);
	if (site->flags & BRICK_SITE_UNKNOWN_OPERATION)
		size += (size_t)snprintf(to + size, capacity - size, ",\"unknown\":true");
	if (site->flags & BRICK_SITE_AT_MOST)
		size += (size_t)snprintf(to + size, capacity - size, ",\"at_most\":true");
	to[size++] = '}';
	to[size] = 0;
	return size;
}
