/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short forms of data in the page. A pack turns many numbers into one text: LEB128 (seven bits a
 * byte, the lowest first) in base64. js/unpack.js reads it: change both together. A list of names
 * has each text once, and data give its place there. A lack of memory is kept for text_error(). One
 * thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

/* All zeros is an empty pack. */
struct pack {
	ARRAY(uint8_t) bytes; /* LEB128 so far */
	bool failed;	      /* memory was lacking; pack_end() gives NULL */
};

void pack_add(struct pack *pack, uint64_t value);

/* Returns the text, a new reference; NULL: no memory. Empties the pack, also then. */
json_t *pack_end(struct pack *pack);

struct page_names {
	json_t *list;	/* array of texts, each once */
	json_t *places; /* object: from a text to its place in the list */
};
struct page_names page_names_begin(void);

/* Returns the place of a name in the list, from 0; adds the name if it is new. */
json_int_t page_names_add(struct page_names *names, const char *name);

/* Frees `places` and returns the list, which is the caller's. */
json_t *page_names_end(struct page_names *names);
