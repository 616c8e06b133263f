/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run as a history keeps it: its origin, and for each phase the time of a token, whole and by
 * brick, layer and kernel, with histograms that can be added up. All texts belong to the run; none
 * is NULL. As JSON it is one line of text, the form of journals and spools, or the objects that it
 * is made of, which a server takes. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "analysis/history/kept_histogram.h"

enum { HISTORY_ID_BYTES = 17 }; /* 16 hexadecimal digits */

/* The fact of plain runs that says whether their value is a "rate", of which more is better. */
#define HISTORY_PRINTS "prints"

/* A part of a run's time. The histogram is of single executions, for a step of steps. */
struct history_part {
	char *phase; /* "prefill", "decode", "mixed"; "program": of the whole program */
	char *kind; /* "step": all of it; "brick", "layer", "unattributed": they add up; "kernel" */
	char *name; /* "" for a step */
	uint64_t count;			     /* executions, steps */
	uint64_t tokens, total_ns;	     /* of all steps */
	uint64_t typical_tokens, typical_ns; /* of the typical ones, by which runs are compared */
	double united; /* of a step: its time as its steps overlap, as a part of their sum */
	struct history_histogram histogram;
};

struct history_fact {
	char *key, *value;
};

struct history_run {
	char id[HISTORY_ID_BYTES];
	char *kind; /* "recorded", "plain", "imported", "floor" */
	char *host, *cpu, *engine, *version, *command, *path;
	char *model, *workload; /* its computation (history_workload.h); "": not known */
	char *batch;		/* "": alone; else the name that runs share which belong together */
	uint64_t start_ns;	/* since 1970 */
	uint64_t wall_ns, ttft_ns; /* 0: not known */
	int64_t exit_code;	   /* -1: not known */
	double value;		   /* the number that a plain run printed; the floor; 0: nothing */
	ARRAY(struct history_fact) facts;
	ARRAY(char *) labels;
	ARRAY(struct history_part) parts;
};

/* All texts "", nothing in it. -ENOMEM: then it needs no fini. */
int history_run_init(struct history_run *run);
void history_run_fini(struct history_run *run);

/* Replace one of its texts by a copy; NULL is "". -ENOMEM: it stays. */
int history_text_set(char **text, const char *value);

/* Add copies; the part is the run's, with nothing in it. NULL, -ENOMEM: not enough memory. */
struct history_part *history_run_part(
	struct history_run *run, const char *phase, const char *kind, const char *name);
int history_run_fact(struct history_run *run, const char *key, const char *value);
int history_run_label(struct history_run *run, const char *label);

/* Put the parts in an order that all histories share: by phase, kind and name, 2 before 10. */
void history_run_order(struct history_run *run);

/* Make the id of a run from its command, place and time. */
void history_run_identify(struct history_run *run, uint64_t salt);

/* The time that a token takes in a part; UINT64_MAX: not known. */
static inline uint64_t history_part_token_ns(const struct history_part *part)
{
	return part->typical_tokens ? part->typical_ns / part->typical_tokens : UINT64_MAX;
}

/* The part of a phase that is its steps; NULL: there is none. */
const struct history_part *history_run_step(const struct history_run *run, const char *phase);

/* As JSON: missing values are "" or 0. */

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
