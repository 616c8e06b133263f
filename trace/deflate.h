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
#include "trace/pb_write.h"

struct deflater;

/* "No earlier packet is known to be alike." */
#define DEFLATE_UNKNOWN UINT32_MAX

/* For chunks of at most chunk_bytes. NULL: no memory. */
struct deflater *deflate_create(size_t chunk_bytes);
void deflate_destroy(struct deflater *d);

/* The next chunk begins; its bytes will stand at data. */
void deflate_start(struct deflater *d, const uint8_t *data);

/*
 * The chunk has grown up to `end`. What is new probably resembles the bytes from `source` on, but
 * for a varint that stands at offset `varint` in both. Handed in in order, without a gap.
 */
void deflate_packet(struct deflater *d, uint32_t end, uint32_t source, uint32_t varint);

/* Append the compressed chunk to *out; its `failed` says whether there was memory. */
void deflate_finish(struct deflater *d, struct pb_buffer *out);
