/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressing a chunk of trace packets (zlib format, RFC 1950 and 1951) for a few nanoseconds a
 * packet. Whoever lays a packet into the chunk knows which earlier packet it most likely repeats,
 * and where in it the timestamp stands that does not repeat; so nothing is searched, and little
 * memory is touched besides the chunk. Packets without such knowledge are searched through a small
 * hash. Owner thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/pb_write.h"

struct deflater;

enum { DEFLATE_WINDOW = 32768 }; /* packets further back are of no use */

/* "No earlier packet is known to be alike"; "all of it is equal, as the caller knows". */
#define DEFLATE_UNKNOWN UINT32_MAX
#define DEFLATE_SAME (UINT32_MAX - 1)

/*
 * Where a packet ends, where its repeating part begins, and how far back similar bytes stand; more
 * than DEFLATE_WINDOW: nowhere.
 */
struct deflate_packet {
	uint32_t end, rest, like, other;
};

/* Packets that have not been looked at yet, for deflate_add(). */
struct deflate_queue {
	uint32_t end, count;
	struct deflate_packet packets[128];
};

/* A compressor for chunks of at most chunk_bytes. NULL: no memory. */
struct deflater *deflate_create(size_t chunk_bytes);
void deflate_destroy(struct deflater *d);

/* The next chunk begins; its bytes will stand at data. */
void deflate_start(struct deflater *d, const uint8_t *data);

/* The queue is full. */
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

/* Append the compressed chunk to *out; its `failed` says whether there was memory. */
void deflate_finish(struct deflater *d, struct pb_buffer *out);
