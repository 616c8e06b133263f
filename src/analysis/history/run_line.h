/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as JSON: one line of text, the form of journals and spools, and the objects that it is made
 * of, which a server takes. What is missing in an object is "" or 0. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include "analysis/history/history_run.h"

/* One line without its end; the caller frees. NULL: not enough memory. */
char *history_run_line(const struct history_run *run);

/* The run of a line. -EINVAL: it is none; -ENOMEM. */
int history_run_parse(struct history_run *run, const char *line, size_t bytes);

static inline const char *json_text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static inline uint64_t json_number_of(const json_t *json, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(json, key));

	return value > 0 ? (uint64_t)value : 0;
}

/* A run, or a part, but for its lists and its histogram; NULL: not enough memory. */
json_t *history_run_json(const struct history_run *run);
json_t *history_part_json(const struct history_part *part);

/* The same back; -ENOMEM. The part has its texts already. */
int history_run_take(struct history_run *run, const json_t *json);
void history_part_take(struct history_part *part, const json_t *json);
