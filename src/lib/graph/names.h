/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of an execution graph, each kept once and numbered from 0 on. One thread at a time. */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "base/hash_index.h"

#define BRICK__NONE UINT32_MAX

struct brick__name {
	const char *text;     /* stays where it is */
	uint32_t first, last; /* nodes of that name, or BRICK__NONE */
};

/* All 0: no names. */
struct brick__names {
	ARRAY(struct brick__name) entries;
	struct hash_index index;
	struct brick__chunk *chunks; /* newest first */
};

/* Gets the number of a text, which is copied if it is new. 0 or -ENOMEM. */
int brick__names_add(struct brick__names *names, const char *text, uint32_t *number);

/* Returns the number of a text; BRICK__NONE: it is not there. */
uint32_t brick__names_find(const struct brick__names *names, const char *text);

void brick__names_fini(struct brick__names *names);
