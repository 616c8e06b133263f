/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating compressed packets, bounded: what a hostile file may make of a few bytes is limited by
 * a ratio that no recording comes near.
 */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include "trace/load_state.h"

enum { LEAST_BYTES = 1 << 20, MOST_BYTES = 64 << 20, MOST_RATIO = 200 };

struct load_inflater {
	z_stream stream;
	uint8_t *out;
	size_t room;
};

struct load_inflater *load_inflater_create(void)
{
	struct load_inflater *inflater = calloc(1, sizeof *inflater);

	if (inflater && inflateInit(&inflater->stream) != Z_OK) {
		free(inflater);
		inflater = NULL;
	}
	return inflater;
}

void load_inflater_destroy(struct load_inflater *inflater)
{
	if (!inflater)
		return;
	inflateEnd(&inflater->stream);
	free(inflater->out);
	free(inflater);
}

static size_t limit(size_t packed)
{
	size_t bytes = packed > MOST_BYTES / MOST_RATIO ? MOST_BYTES : packed * MOST_RATIO;

	return bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
}

static int grow(struct load_inflater *inflater, size_t most)
{
	size_t room = inflater->room ? inflater->room * 2 : LEAST_BYTES;
	uint8_t *out;

	if (inflater->room >= most)
		return 0;
	if (room > most)
		room = most;
	out = realloc(inflater->out, room);
	if (!out)
		return 0;
	inflater->out = out;
	inflater->room = room;
	return 1;
}

int load_inflate(struct load_inflater *inflater, struct pb_reader packed, struct pb_reader *out)
{
	z_stream *z = &inflater->stream;
	size_t size = 0, most = limit(pb_size(packed));
	int result = Z_OK;

	if (pb_size(packed) > UINT_MAX || inflateReset(z) != Z_OK)
		return 0;
	z->next_in = (Bytef *)packed.at;
	z->avail_in = (uInt)pb_size(packed);
	while (result == Z_OK) {
		if (size >= most || (size == inflater->room && !grow(inflater, most)))
			return 0;
		size_t room = (inflater->room < most ? inflater->room : most) - size;
		z->next_out = inflater->out + size;
		z->avail_out = (uInt)room;
		result = inflate(z, Z_NO_FLUSH);
		size += room - z->avail_out;
	}
	*out = pb_reader(inflater->out, size);
	return result == Z_STREAM_END;
}
