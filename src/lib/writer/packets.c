/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets go: into the chunk, from there (compressed) to the file. The file always consists
 * of whole packets. The first error is kept; after it nothing is written any more.
 */
#include "lib/writer/packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int packets_init(struct packets *p, const char *path, int compress)
{
	p->chunk = malloc(CHUNK_BYTES + CHUNK_MARGIN_BYTES);
	p->deflater = compress ? deflate_create(CHUNK_BYTES + CHUNK_MARGIN_BYTES) : NULL;
	if (!p->chunk || (compress && !p->deflater))
		return -ENOMEM;
	p->chunk_place = DEFLATE_WINDOW + 1; /* so that nothing is near a place of 0 */
	if (p->deflater)
		deflate_start(p->deflater, p->chunk);
	return p->output ? 0 : part_file_open(&p->file, path);
}

void packets_fini(struct packets *p)
{
	deflate_destroy(p->deflater);
	pb_buffer_fini(&p->scratch);
	pb_buffer_fini(&p->packed);
	free(p->chunk);
}

int packets_fail(struct packets *p, int error)
{
	if (!p->error)
		p->error = error;
	return p->error;
}

static int packets_write_all(struct packets *p, const uint8_t *data, size_t size)
{
	int error = p->output ? p->output(p->output_context, data, size)
			      : part_file_write(p->file, data, size);

	if (error < 0)
		return packets_fail(p, error);
	p->bytes += size;
	return 0;
}

static int write_compressed(struct packets *p)
{
	struct pb_buffer *b = &p->packed;

	b->size = 0;
	size_t packet = pb_open(b, TRACE_PACKET);
	size_t field = pb_open(b, PACKET_COMPRESSED);
	deflate_finish(p->deflater, b);
	pb_close(b, field);
	pb_close(b, packet);
	if (b->failed)
		return packets_fail(p, -ENOMEM);
	return packets_write_all(p, b->data, b->size);
}

int packets_send(struct packets *p)
{
	if (p->error || !p->chunk_size)
		return p->error;
	int result =
		p->deflater ? write_compressed(p) : packets_write_all(p, p->chunk, p->chunk_size);
	/* what was before is out of reach of what comes */
	p->chunk_place += p->chunk_size + DEFLATE_WINDOW;
	p->chunk_size = 0;
	if (p->deflater)
		deflate_start(p->deflater, p->chunk);
	return result;
}

/* A packet that is larger than a chunk goes to the file as it is. */
int packets_add(struct packets *p)
{
	struct pb_buffer *b = &p->scratch;
	size_t size = b->size;

	if (b->failed)
		packets_fail(p, -ENOMEM);
	b->size = 0;
	if (p->error)
		return p->error;
	if (p->chunk_size + size > CHUNK_BYTES && packets_send(p))
		return p->error;
	if (size > CHUNK_BYTES)
		return packets_write_all(p, b->data, size);
	uint32_t at = (uint32_t)p->chunk_size;
	memcpy(p->chunk + at, b->data, size);
	p->chunk_size += size;
	if (p->deflater)
		deflate_add(
			p->deflater, (uint32_t)p->chunk_size, at, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
	return 0;
}

int packets_finish(struct packets *p)
{
	int result = p->error;

	if (result)
		part_file_leave(p->file);
	else if (p->file)
		result = part_file_finish(p->file);
	p->file = NULL;
	return result;
}

size_t packet_open(struct pb_buffer *b, uint32_t sequence, uint64_t flags)
{
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

/* SplitMix64: uuids of one file never collide, and hardly with those of another. */
uint64_t packets_uuid(const struct packets *p, uint64_t kind, uint64_t index)
{
	uint64_t x = p->uuid_seed + (kind << 56) + index * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return x >> 1 | 1;
}

static void clock_entry(struct pb_buffer *b, uint32_t id, uint64_t ns, bool incremental)
{
	size_t entry = pb_open(b, SNAPSHOT_CLOCKS);

	pb_varint(b, CLOCK_ID, id);
	pb_varint(b, CLOCK_TIMESTAMP, ns);
	if (incremental) {
		pb_varint(b, CLOCK_IS_INCREMENTAL, 1);
		pb_varint(b, CLOCK_UNIT_NS, 1);
	}
	pb_close(b, entry);
}

void packets_clock_snapshot(struct packets *p, uint64_t ns, bool lane_clock)
{
	struct pb_buffer *b = &p->scratch;
	size_t snapshot = pb_open(b, PACKET_CLOCK_SNAPSHOT);

	if (lane_clock)
		clock_entry(b, CLOCK_ID_LANE, ns, true);
	clock_entry(b, CLOCK_ID_MONOTONIC, ns, false);
	clock_entry(b, CLOCK_ID_BOOTTIME, ns + (uint64_t)p->boot_offset_ns, false);
	clock_entry(b, CLOCK_ID_REALTIME, ns + (uint64_t)p->unix_offset_ns, false);
	pb_close(b, snapshot);
}
