/* SPDX-License-Identifier: Apache-2.0 */
/* Debug annotations of an event: reading one, and finding one by its name. Any thread. */
#pragma once

#include "trace/pb_read.h"

struct load_annotation {
	struct pb_reader name;	 /* empty in lists */
	struct pb_reader text;	 /* .at is NULL when it is no text */
	uint64_t value;		 /* of integers and booleans */
	struct pb_reader inside; /* the message itself, for load_next() on lists and dictionaries */
};

/* The next one of `field` in a message. 1, 0 at the end, -1 malformed. */
int load_next(struct pb_reader *message, uint32_t field, struct load_annotation *a);

/* In a whole event (field EVENT_ANNOTATIONS) or dictionary (ANNOTATION_DICT). 0: not there. */
int load_find(
	struct pb_reader message, uint32_t field, const char *name, struct load_annotation *a);
uint64_t load_find_uint(
	struct pb_reader message, uint32_t field, const char *name, uint64_t fallback);

/* In an event. */
uint64_t load_uint(struct pb_reader event, const char *name, uint64_t fallback);
