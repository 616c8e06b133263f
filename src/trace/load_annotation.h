/* SPDX-License-Identifier: Apache-2.0 */
/* Debug annotations of an event: reading one, and finding one by its name. Any thread. */
#pragma once

#include "base/members.h"
#include "base/pb_read.h"

struct load_annotation {
	struct pb_reader name;	 /* empty in lists */
	struct pb_reader text;	 /* .at is NULL when it is no text */
	uint64_t value;		 /* of integers and booleans; else 0 */
	struct pb_reader inside; /* the message itself, for load_next() on lists and dictionaries */
};

/* Reads the message's next annotation with that field number. 1; 0: no more; -1: malformed. */
int load_next(struct pb_reader *message, uint32_t field, struct load_annotation *a);

/*
 * Finds an annotation by name in an event (field EVENT_ANNOTATIONS) or a dictionary
 * (ANNOTATION_DICT). 1; 0: it is not there.
 */
int load_find(
	struct pb_reader message, uint32_t field, const char *name, struct load_annotation *a);
/* The value of an annotation; `fallback`: it is not there, or it is a text. */
uint64_t load_find_uint(
	struct pb_reader message, uint32_t field, const char *name, uint64_t fallback);

/* As load_find_uint(), in an event. */
uint64_t load_uint(struct pb_reader event, const char *name, uint64_t fallback);
/* Sets members of `to`, each from the event's annotation of the member's name; 0: it has none. */
#define load_uints(to, event, ...)                       \
	do {                                             \
		EACH(LOAD__UINT, to, event, __VA_ARGS__) \
	} while (0)
#define LOAD__UINT(to, event, m) (to)->m = (__typeof__((to)->m))load_uint(event, #m, 0);
