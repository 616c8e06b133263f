/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets are laid: one chunk of memory, which goes to the file compressed when it is full;
 * and what packets of all sequences need: clocks and uuids. Knows which bytes repeat others. After
 * the first error, which is kept, nothing is written any more. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include "lib/writer/deflate.h"
#include "lib/writer/part_file.h"
#include "base/pb_write.h"
#include "format/perfetto.h"

enum {
	CHUNK_BYTES = 256 << 10,       /* a chunk goes to the file when it holds that many */
	CHUNK_MARGIN_BYTES = 16 << 10, /* more than what one record can add */
};

/*
 * Where the part of a packet behind its timestamp was laid, counted in bytes from the first chunk
 * on.
 */
typedef uint64_t packet_place;

struct packets {
	int error;
	struct part_file *file;
	int (*output)(void *context, const void *data, size_t bytes); /* instead of the file */
	void *output_context;
	uint8_t *chunk; /* CHUNK_BYTES + CHUNK_MARGIN_BYTES */
	size_t chunk_size;
	packet_place chunk_place;
	struct deflater *deflater;
	struct pb_buffer scratch, packed;
	uint64_t bytes;				/* of the file */
	int64_t boot_offset_ns, unix_offset_ns; /* to add to CLOCK_MONOTONIC */
	uint64_t uuid_seed;
};

/* Kinds of tracks, for their uuids. */
enum { UUID_RUN, UUID_PROCESS, UUID_LANE, UUID_COUNTER, UUID_FLOW, UUID_OFF_CPU, UUID_TRACE };

/* p: zeroed but for the output, the offsets and the seed. packets_fini() does not close the file.
 */
int packets_init(struct packets *p, const char *path, int compress);
void packets_fini(struct packets *p);
/* Keep the first error; returns it. */
int packets_fail(struct packets *p, int error);
/* The chunk goes to the file. */
int packets_send(struct packets *p);
/* Append what was made in p->scratch, whole packets; empties the scratch. */
int packets_add(struct packets *p);
/* Give the file its name; after an error it is left as it is. */
int packets_finish(struct packets *p);

/* Begin a packet of a sequence in a buffer; pb_close() ends it. flags: perfetto_sequence_flags. */
size_t packet_open(struct pb_buffer *b, uint32_t sequence, uint64_t flags);
uint64_t packets_uuid(const struct packets *p, uint64_t kind, uint64_t index);
/* A field of the packet in the scratch; lane_clock: it sets a sequence's incremental clock, too. */
void packets_clock_snapshot(struct packets *p, uint64_t ns, bool lane_clock);

static inline uint8_t *packets_end(struct packets *p)
{
	return p->chunk + p->chunk_size;
}

/* How far back a place is from where the next packet will be, behind `head` bytes of it. */
static inline uint32_t distance_back(
	const struct packets *p, unsigned head, const packet_place *place)
{
	uint64_t distance = p->chunk_place + p->chunk_size + head - *place;

	return distance <= DEFLATE_WINDOW ? (uint32_t)distance : DEFLATE_UNKNOWN;
}

/*
 * A packet has been laid at the end of the chunk: `head` bytes up to its timestamp and `rest` bytes
 * behind it, which are like those `like` bytes before, and where not, like those `other` before.
 * Returns where they are.
 */
static inline packet_place packet_laid(
	struct packets *p, unsigned head, unsigned rest, uint32_t like, uint32_t other)
{
	uint32_t at = (uint32_t)p->chunk_size + head;

	packets_end(p)[1] = (uint8_t)(head + rest - 2);
	p->chunk_size = at + rest;
	if (p->deflater)
		deflate_add(p->deflater, at + rest, at, like, other);
	return p->chunk_place + at;
}

/* The same; what is behind the timestamp is equal to what is at *last, which is here from now on.
 */
static inline void packet_laid_again(
	struct packets *p, unsigned head, unsigned rest, packet_place *last)
{
	*last = packet_laid(p, head, rest, distance_back(p, head, last), DEFLATE_SAME);
}
