/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON in a window, so that a file of gigabytes needs no tree of all its values in memory.
 * The caller walks through the outer containers, and loads or skips the values in them. All that is
 * read is checked (RFC 8259); what a value means is found out when it is asked. Input is never
 * trusted. One thread at a time.
 *
 *	struct json_walk walk;
 *	int error = reader_enter(r, '[', &walk);
 *	while (!error && (error = reader_next(r, &walk)) > 0)
 *		error = reader_load(r, &value);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "import/import.h"
#include "base/array.h"

enum { JSON_MOST_DEPTH = 512 }; /* of values in one another */

enum value_kind {
	VALUE_OBJECT,
	VALUE_ARRAY,
	VALUE_TEXT,
	VALUE_NUMBER,
	VALUE_TRUE,
	VALUE_FALSE,
	VALUE_NULL,
};

/* A value of those loaded together: behind a container stand the values in it. */
struct json_value {
	const char *key;  /* of a member, with its end; NULL: it is none */
	const char *text; /* of a text: without quotes and escapes, with its end; else as written */
	uint32_t key_bytes, bytes; /* without that end */
	uint32_t count;		   /* of values from this one to the last one in it */
	enum value_kind kind;
};

struct json_reader {
	const char *name;		    /* of the member that reader_next() came to */
	char name_bytes[64];		    /* holds it */
	const struct import_source *source; /* the rest is private; NULL: nothing follows `end` */
	struct import_error *error;
	char *window, *end;	    /* what was read and not dropped */
	char *at;		    /* the next byte to look at */
	char *kept;		    /* where the value begins that is being loaded; NULL: none */
	size_t capacity;	    /* of the window */
	char *counted;		    /* the first byte whose line is not counted yet */
	size_t base;		    /* bytes before the window */
	size_t lines, loaded_lines; /* line ends before `counted`; before the loaded value */
	ARRAY(struct json_value) values;
	bool has_escapes; /* in the value that is being loaded */
	char close[JSON_MOST_DEPTH];
	uint32_t open[JSON_MOST_DEPTH]; /* indices in `values` */
};

/* A container that the caller goes through. */
struct json_walk {
	char close;
	bool is_begun;
	/* set by the caller: the end of the file is the container's end, too, and a comma may come
	 * before the end */
	bool may_be_cut;
};

/* Errors are -ENOMEM, or BRICK_EFORMAT, with the place and the reason in *error. */
void reader_init(
	struct json_reader *reader, const struct import_source *source, struct import_error *error);
void reader_fini(struct json_reader *reader);

/* The first byte of the next value, behind a mark of UTF-8; '\0': the file ends. Or an error. */
int reader_next_byte(struct json_reader *reader);

/* Enters the next value, which must begin with '{' or '['. 0 or an error. */
int reader_enter(struct json_reader *reader, char open, struct json_walk *walk);

/*
 * Goes to the next value of the container. Of an object, reader->name is its name, "" if that is
 * longer than 63 bytes. 1; 0: there is none, and the container was left; or an error. The caller
 * must load, skip or enter the value.
 */
int reader_next(struct json_reader *reader, struct json_walk *walk);

/* Reads the next value, which is valid until more is read. 0 or an error. */
int reader_load(struct json_reader *reader, const struct json_value **value);

/* Reads the next value, and keeps nothing of it. 0 or an error. */
int reader_skip(struct json_reader *reader);

/* Nothing but blanks may follow. 0 or an error. */
int reader_end(struct json_reader *reader);

/* Writes the place and the reason into the error; returns BRICK_EFORMAT. */
int reader_fail(const struct json_reader *reader, const char *why);
/* The same, where the value begins that was loaded last, of which nothing behind was read yet. */
int reader_fail_loaded(const struct json_reader *reader, const char *why);

/* Values that were loaded. All functions take NULL for a value that is not there. */

/* The first value of a container, and the one behind a value; NULL: there is none. */
const struct json_value *value_first(const struct json_value *container);
static inline const struct json_value *value_behind(
	const struct json_value *container, const struct json_value *value)
{
	value += value->count;
	return value < container + container->count ? value : NULL;
}

/* A loop over the values that a container has; none, if it is no container. */
#define VALUES_EACH(value, container)                                                \
	for (const struct json_value *value = value_first(container); value != NULL; \
		value = value_behind(container, value))

static inline bool value_key_is(const struct json_value *value, const char *key)
{
	return value->key_bytes == strlen(key) && !memcmp(value->key, key, strlen(key));
}

/* The last member of that name; NULL: there is none, or the value is no object. */
static inline const struct json_value *value_get(const struct json_value *object, const char *key)
{
	const struct json_value *found = NULL;

	if (!object || object->kind != VALUE_OBJECT)
		return NULL;
	for (const struct json_value *v = object + 1, *end = object + object->count; v < end;
		v += v->count)
		if (value_key_is(v, key))
			found = v;
	return found;
}

/* The text; NULL: it is none. */
static inline const char *value_string(const struct json_value *value)
{
	return value && value->kind == VALUE_TEXT ? value->text : NULL;
}

/* True: the value is a number without a fraction and fits. */
bool value_whole(const struct json_value *value, int64_t *whole);

/* True: the value is a number that a double can hold. */
bool value_real(const struct json_value *value, double *number);

/* Adds what rocprofv3 writes as the member "rocprofiler-sdk-tool", the next value. 0 or an error.
 */
int import_rocprof_json(struct imported *imported, struct json_reader *reader);
