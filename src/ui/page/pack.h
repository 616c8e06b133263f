/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short forms of data that the page holds many times: numbers as one text, LEB128 (seven bits a
 * byte, the lowest first) in base64, which the page unpacks in js/unpack.js; and texts that stand
 * in one list and are named by their places there. Where memory is lacking, text_error() says so in
 * the end. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

struct pack {
	ARRAY(uint8_t) bytes;
	bool failed;
};

void pack_add(struct pack *pack, uint64_t value);

/* The text, a new reference, or NULL; the pack is empty again. */
json_t *pack_end(struct pack *pack);

/* Texts, each once, and the place of each in the list. */
struct page_names {
	json_t *list, *places;
};
struct page_names page_names_begin(void);
json_int_t page_names_add(struct page_names *names, const char *name);
json_t *page_names_end(struct page_names *names); /* the list, a new reference */
