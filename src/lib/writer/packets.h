/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunk of memory in which packets are laid, and which goes to the file, compressed, when it is
 * full; and what packets of all sequences need: clocks and uuids. Each packet is laid with the
 * place of earlier bytes that it repeats, for deflate.h. After the first error, which is kept,
 * nothing is written any more. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include "lib/writer/deflate.h"
#include "lib/writer/part_file.h"
#include "base/pb_write.h"
#include "format/perfetto.h"

enum {
	CHUNK_BYTES = 256 << 10,       /* a chunk that is longer goes to the file */
	CHUNK_MARGIN_BYTES = 16 << 10, /* room behind it: more than one record can add */
};

/*
 * Where the part of a packet behind its timestamp was laid: bytes from the first chunk on. Places
 * of different chunks are more than DEFLATE_WINDOW apart. 0: nowhere.
 */
typedef uint64_t packet_place;

struct packets {
	int error;		/* the first one; 0: none */
	struct part_file *file; /* NULL with an output, and after packets_finish() */
	int (*output)(void *context, const void *data, size_t bytes); /* instead of the file */
	void *output_context;
	uint8_t *chunk;				/* CHUNK_BYTES + CHUNK_MARGIN_BYTES */
	size_t chunk_size;			/* bytes in it */
	packet_place chunk_place;		/* of its first byte */
	struct deflater *deflater;		/* NULL: the file is not compressed */
	struct pb_buffer scratch;		/* a packet that is being made */
	struct pb_buffer packed;		/* a compressed chunk */
	uint64_t bytes;				/* written to the file or output so far */
	int64_t boot_offset_ns, unix_offset_ns; /* to add to CLOCK_MONOTONIC for the other clocks */
	uint64_t uuid_seed;
};

/* Kinds of things with uuids; packets_uuid() makes the kind a part of the uuid. */
enum { UUID_RUN, UUID_PROCESS, UUID_LANE, UUID_COUNTER, UUID_FLOW, UUID_OFF_CPU, UUID_TRACE };

/*
 * p: zeroed but for the output, the offsets and the seed. path: the file's, unless there is an
 * output. 0, -ENOMEM or the error of part_file_open(); call packets_fini() after an error, too.
 * packets_fini() does not close the file.
 */
int packets_init(struct packets *p, const char *path, int compress);
void packets_fini(struct packets *p);

/* Keeps the first error; returns it. */
int packets_fail(struct packets *p, int error);

/* Writes the chunk to the file, and empties it. 0, or the first error. */
int packets_send(struct packets *p);

/* Appends the whole packets that were made in p->scratch, and empties it. 0, or the first error. */
int packets_add(struct packets *p);

/* Gives the file its name, or, after an error, leaves PATH.part. The chunk must have been sent. */
int packets_finish(struct packets *p);

/* Begins a packet of a sequence in a buffer; pb_close() ends it. flags: perfetto_sequence_flags. */
size_t packet_open(struct pb_buffer *b, uint32_t sequence, uint64_t flags);

/* Returns the uuid of thing `index` of a kind (UUID_*): odd, below 2^63, the same at each call. */
uint64_t packets_uuid(const struct packets *p, uint64_t kind, uint64_t index);

/*
 * Adds a snapshot of all clocks to the packet in the scratch; ns: CLOCK_MONOTONIC. lane_clock: it
 * sets the sequence's incremental clock, too.
 */
void packets_clock_snapshot(struct packets *p, uint64_t ns, bool lane_clock);

/* Returns where the next packet is laid. The margin guarantees room for one record's packets. */
static inline uint8_t *packets_end(struct packets *p)
{
	return p->chunk + p->chunk_size;
}

/*
 * Returns how many bytes a place is before byte `head` of the next packet; DEFLATE_UNKNOWN: too
 * far.
 */
static inline uint32_t distance_back(
	const struct packets *p, unsigned head, const packet_place *place)
{
	uint64_t distance = p->chunk_place + p->chunk_size + head - *place;

	return distance <= DEFLATE_WINDOW ? (uint32_t)distance : DEFLATE_UNKNOWN;
}

/*
 * Adds the packet that the caller has laid at the end of the chunk: `head` bytes up to its
 * timestamp and `rest` bytes behind it, which resemble the bytes `like` before them, and where they
 * do not, those `other` before them. head + rest - 2 is at most 127: the length is one byte.
 * Returns the place of the `rest` bytes.
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

/* As packet_laid(), where the `rest` bytes equal those at *last; *last becomes their place. */
static inline void packet_laid_again(
	struct packets *p, unsigned head, unsigned rest, packet_place *last)
{
	*last = packet_laid(p, head, rest, distance_back(p, head, last), DEFLATE_SAME);
}
