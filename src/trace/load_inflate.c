/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/load_inflate.h"

#include <libdeflate.h>
#include <stdlib.h>

enum { MIN_BYTES = 1 << 20, MAX_BYTES = 64 << 20, MAX_RATIO = 200 };

struct load_inflater {
	struct libdeflate_decompressor *decompressor;
	uint8_t *out;
	size_t capacity;
};

struct load_inflater *load_inflater_create(void)
{
	struct load_inflater *inflater = calloc(1, sizeof *inflater);

	if (!inflater)
		return NULL;
	inflater->decompressor = libdeflate_alloc_decompressor();
	if (!inflater->decompressor) {
		free(inflater);
		return NULL;
	}
	return inflater;
}

void load_inflater_destroy(struct load_inflater *inflater)
{
	if (!inflater)
		return;
	libdeflate_free_decompressor(inflater->decompressor);
	free(inflater->out);
	free(inflater);
}

static size_t limit(size_t packed)
{
	size_t bytes = packed > MAX_BYTES / MAX_RATIO ? MAX_BYTES : packed * MAX_RATIO;

	return bytes < MIN_BYTES ? MIN_BYTES : bytes;
}

static int grow(struct load_inflater *inflater, size_t most)
{
	size_t capacity = inflater->capacity ? inflater->capacity * 2 : MIN_BYTES;

	if (inflater->capacity >= most)
		return 0;
	free(inflater->out);
	inflater->capacity = capacity < most ? capacity : most;
	inflater->out = malloc(inflater->capacity);
	if (!inflater->out)
		inflater->capacity = 0;
	return inflater->out != NULL;
}

int load_inflate(struct load_inflater *inflater, struct pb_reader packed, struct pb_reader *out)
{
	size_t size = 0, most = limit(pb_size(packed));
	enum libdeflate_result result;

	if (!inflater->out && !grow(inflater, most))
		return -1;
	do
		result = libdeflate_zlib_decompress(inflater->decompressor, packed.at,
			pb_size(packed), inflater->out,
			inflater->capacity < most ? inflater->capacity : most, &size);
	while (result == LIBDEFLATE_INSUFFICIENT_SPACE && grow(inflater, most));
	if (!inflater->out)
		return -1;
	*out = pb_reader(inflater->out, size);
	return result == LIBDEFLATE_SUCCESS;
}
