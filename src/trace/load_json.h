/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON objects in interned values: flat, with text, integers, true and lists of integers as values.
 * Reading ends at the first thing that is something else. Any thread.
 */
#pragma once

#include <stdint.h>

struct load_json {
	const char *at, *end;
};

struct load_json_value {
	char *text; /* owned by whoever reads until taken; NULL: no text */
	int64_t number;
	uint64_t count;	  /* the number, when it is not negative */
	uint64_t list[3]; /* the first numbers of a list */
	int is_true;
};

/* Each returns 0 when something else stands there. */
int load_json_value(struct load_json *j, struct load_json_value *value);

/* The value's text, or NULL, in place of what was there; the caller's from then on. */
void load_json_take(char **text, struct load_json_value *value);

/* A whole object: member() for each of its members, whose texts are freed unless taken. */
typedef void (*load_json_member_fn)(void *to, const char *key, struct load_json_value *value);
int load_json_object(struct load_json *j, load_json_member_fn member, void *to);
