/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressing a chunk of trace packets (zlib format, RFC 1950 and 1951) for a few nanoseconds a
 * packet. Whoever lays a packet into the chunk knows which earlier packet it most likely repeats,
 * and where in it the timestamp ends, which does not repeat. So there is no search, and little
 * memory is touched besides the chunk. For packets without such knowledge matches are searched
 * through a small hash. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/pb_write.h"

struct deflater;

enum { DEFLATE_WINDOW = 32768 }; /* packets further back are of no use */

/* As `like` or `other`: no earlier packet is known to be alike. */
#define DEFLATE_UNKNOWN UINT32_MAX
/* As `other`: the caller knows that all of the repeating part equals the bytes at `like`. */
#define DEFLATE_SAME (UINT32_MAX - 1)

/* A packet, as deflate_add() got it. */
struct deflate_packet {
	uint32_t end;	/* byte of the chunk behind the packet */
	uint32_t rest;	/* byte of the chunk at which its repeating part begins */
	uint32_t like;	/* how many bytes back the bytes stand that it resembles ... */
	uint32_t other; /* ... and where it does not, these; beyond DEFLATE_WINDOW: nowhere */
};

/* Packets that have not been looked at yet. The first member of struct deflater, for deflate_add().
 */
struct deflate_queue {
	uint32_t end; /* of the last packet */
	uint32_t count;
	struct deflate_packet packets[128];
};

/* A compressor for chunks of at most chunk_bytes. NULL: no memory. */
struct deflater *deflate_create(size_t chunk_bytes);
void deflate_destroy(struct deflater *d);

/* Begins the next chunk. Its bytes will stand at `data`, which must stay until deflate_finish(). */
void deflate_start(struct deflater *d, const uint8_t *data);

/* Looks at the packets in the queue, and empties it. deflate_add() calls it when the queue is full.
 */
void deflate_run(struct deflater *d);

/*
 * The chunk has grown up to `end` by one packet. What of it is from `rest` on probably resembles
 * what is `like` bytes before it, and where it does not, what is `other` bytes before it; other is
 * DEFLATE_SAME: all of it is equal to that. Handed in in order, without a gap.
 */
static inline void deflate_add(
	struct deflater *d, uint32_t end, uint32_t rest, uint32_t like, uint32_t other)
{
	struct deflate_queue *queue = (struct deflate_queue *)d;

	queue->end = end;
	queue->packets[queue->count++] = (struct deflate_packet){end, rest, like, other};
	if (queue->count == sizeof(queue->packets) / sizeof(*queue->packets))
		deflate_run(d);
}

/* Appends the compressed chunk to *out; out->failed: there was no memory. */
void deflate_finish(struct deflater *d, struct pb_buffer *out);
