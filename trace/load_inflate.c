/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating compressed packets, bounded: what a hostile file may make of a few bytes is limited by
 * a ratio that no recording comes near. The memory is kept from one packet to the next.
 */
#include <stdlib.h>
#include "trace/inflate.h"
#include "trace/load_state.h"

enum { LEAST_BYTES = 1 << 20, MOST_BYTES = 64 << 20, MOST_RATIO = 200 };

struct load_inflater {
	struct inflate_tables tables;
	uint8_t *out;
	size_t room;
};

struct load_inflater *load_inflater_create(void)
{
	return calloc(1, sizeof(struct load_inflater));
}

void load_inflater_destroy(struct load_inflater *inflater)
{
	if (!inflater)
		return;
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

	if (inflater->room >= most)
		return 0;
	free(inflater->out);
	inflater->room = room < most ? room : most;
	inflater->out = malloc(inflater->room);
	if (!inflater->out)
		inflater->room = 0;
	return inflater->out != NULL;
}

int load_inflate(struct load_inflater *inflater, struct pb_reader packed, struct pb_reader *out)
{
	size_t size = 0, most = limit(pb_size(packed));
	enum inflate_result result = INFLATE_FULL;

	if (!inflater->out && !grow(inflater, most))
		return -1;
	do
		result = inflate_stream(&inflater->tables, packed.at, pb_size(packed),
			inflater->out, inflater->room < most ? inflater->room : most, &size);
	while (result == INFLATE_FULL && grow(inflater, most));
	if (!inflater->out)
		return -1;
	*out = pb_reader(inflater->out, size);
	return result == INFLATE_DONE;
}
