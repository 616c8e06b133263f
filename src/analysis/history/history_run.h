/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run as a history keeps it: its origin, and for each phase the time of a token, whole and by
 * brick, layer and kernel, with histograms that can be added up. The run owns all its texts, and
 * none is NULL. Its JSON is one line in journals and spools; a server takes the objects in it.
 *
 * Names of members, kinds and phases are stored by histories, so they stay. A new member goes into
 * history_run_json(), history_run_take(), the columns of sqlite.c with a migration in sqlite_db.c,
 * and clickhouse/tables.sql with a column in clickhouse.c. A new text goes into texts_of(), too.
 * One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "analysis/history/kept_histogram.h"

enum { HISTORY_ID_BYTES = 17 }; /* 16 hexadecimal digits */

/*
 * The key of a plain run's fact about its value: "rate" (more is better) or "time" (less is
 * better).
 */
#define HISTORY_PRINTS "prints"
/* The key of a fact of runs that others disturbed (base/disturbed.h); its value is "yes". */
#define HISTORY_DISTURBED "disturbed"
/* The kind of a part of a run between two times: one of many, for questions about a fleet. */
#define HISTORY_WINDOW "window"
/* The key of a window's fact about its longest step of a phase, before the phase: "NS ns, step N".
 */
#define HISTORY_SLOWEST "slowest "

/*
 * A part of a run's time in one phase. Typical steps are those by which runs are compared
 * (compare_series_reduce()).
 */
struct history_part {
	char *phase; /* "prefill", "decode" or "mixed" */
	/*
	 * "step": whole steps; "brick", "layer", "unattributed", "off_cpu": a part of their time;
	 * "kernel": time of a device beside theirs
	 */
	char *kind;
	/* of the brick, layer or kernel; "unattributed", "preempted", "blocked"; "" for a step */
	char *name;
	uint64_t count;		 /* executions; of a step: steps; 0: not counted (layers) */
	uint64_t tokens;	 /* of all steps of the phase */
	uint64_t total_ns;	 /* in all these steps */
	uint64_t typical_tokens; /* of the typical steps; 0: none */
	uint64_t typical_ns;	 /* in the typical steps */
	/*
	 * Of a step, tokens / (total_ns * united) is the rate: the factor counts overlapping steps
	 * once, and takes drafts out of tokens. Of other kinds it is 1.
	 */
	double united;
	struct history_histogram histogram; /* lengths of single executions, or of steps */
};

struct history_fact {
	char *key, *value;
};

struct history_run {
	char id[HISTORY_ID_BYTES]; /* history_run_identify() */
	/*
	 * "recorded"; "plain": run without recording; "imported": from another program; "floor": no
	 * run, but a measure of the machine's noise; HISTORY_WINDOW
	 */
	char *kind;
	char *host, *cpu, *engine, *version, *command, *path; /* "": not known */
	char *model, *workload; /* its computation (history_workload.h); "": not known */
	char *batch;  /* a name that all runs of one bench, or windows of one program, share; or ""
		       */
	int64_t rank; /* of its process among those of a job; -1: not known, or several */
	uint64_t start_ns;		  /* since 1970 */
	uint64_t wall_ns;		  /* of the whole run; 0: not known */
	uint64_t ttft_ns;		  /* time to the first token; 0: not known */
	int64_t exit_code;		  /* -1: not known */
	double value;			  /* what a plain run printed, or the floor; 0: nothing */
	ARRAY(struct history_fact) facts; /* keys may repeat */
	ARRAY(char *) labels;		  /* each text once */
	ARRAY(struct history_part) parts;
};

/* Makes all texts "", lists empty, exit_code and rank -1. After -ENOMEM the run needs no fini. */
int history_run_init(struct history_run *run);
/* Frees what the run owns. A run that is all zero is legal. */
void history_run_fini(struct history_run *run);

/* Replaces a text of a run by a copy; NULL is copied as "". -ENOMEM: the old text stays. */
int history_text_set(char **text, const char *value);

/*
 * Adds a part without times, and with united 1. Names are copied. The pointer is valid until the
 * next part is added. NULL: no memory.
 */
struct history_part *history_run_part(
	struct history_run *run, const char *phase, const char *kind, const char *name);
/* Adds copies of both texts. -ENOMEM. */
int history_run_fact(struct history_run *run, const char *key, const char *value);
/* The value of the first fact with that key; NULL: there is none. Valid until a fact is added. */
const char *history_run_fact_find(const struct history_run *run, const char *key);
/* Adds a copy of a label that the run does not have yet. -ENOMEM. */
int history_run_label(struct history_run *run, const char *label);

/* Sorts parts by phase, kind and name, as all stores hand them out; numbers by value: 2, 10. */
void history_run_order(struct history_run *run);

/*
 * Makes the id from host, start_ns, command, engine, kind and salt. The same values give the same
 * id, so that no store has a run twice.
 */
void history_run_identify(struct history_run *run, uint64_t salt);

/* The time that a token takes in a part; UINT64_MAX: not known. */
static inline uint64_t history_part_token_ns(const struct history_part *part)
{
	return part->typical_tokens ? part->typical_ns / part->typical_tokens : UINT64_MAX;
}

/* The part of kind "step" in a phase; NULL: none. */
const struct history_part *history_run_step(const struct history_run *run, const char *phase);

/*
 * JSON. A missing value, or one of another type, is read as "" or 0; negative integers are read as
 * 0, but not in exit_code and rank.
 */

/*
 * The run as one line of ASCII, without a newline; the caller frees. NULL: as history_run_json().
 */
char *history_run_line(const struct history_run *run);

/*
 * Makes the run of a line that history_run_line() wrote; the caller calls history_run_fini() after
 * success only. -EINVAL: the line is no run; -ENOMEM.
 */
int history_run_parse(struct history_run *run, const char *line, size_t bytes);

/* Valid as long as `json`; "" where there is no text. */
static inline const char *json_text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

/* 0 where there is no positive integer. */
static inline uint64_t json_number_of(const json_t *json, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(json, key));

	return value > 0 ? (uint64_t)value : 0;
}

/*
 * Objects of a run without its lists, and of a part without its histogram. The caller gives back
 * the reference. NULL: no memory, or a text that is not UTF-8.
 */
json_t *history_run_json(const struct history_run *run);
json_t *history_part_json(const struct history_part *part);

/* Read members back into an initialised run, -ENOMEM; and the numbers of a part. */
int history_run_take(struct history_run *run, const json_t *json);
void history_part_take(struct history_part *part, const json_t *json);
