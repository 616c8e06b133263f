/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many numbers as one short text: LEB128 (seven bits a byte, the lowest first), in base64. The page
 * unpacks it in src/unpack.js. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
	uint8_t *data;
	size_t used, capacity;
};

void pack_add(struct pack *pack, uint64_t value);

/* The text, a new reference; the pack is empty again. */
json_t *pack_end(struct pack *pack);
