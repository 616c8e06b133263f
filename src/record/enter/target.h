/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process is made of, from /proc and its files: whether it can be entered at all, where
 * functions are that a plant needs, and which of the engine's functions can lead to it. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "attach/patch/patch_plan.h"
#include "attach/patch/survey.h"
#include "base/array.h"
#include "lib/sys/tracing.h"
#include "record/enter/refusal.h"
#include "record/enter/tracee.h"
#include "record/inject/attachers.h"

/* A function of the engine that leads to the plant. */
struct target_function {
	const struct plan *plan;
	const struct image *image;
	uint64_t bias; /* address in memory less address in the file */
};

/* A word of a table by which programs call functions: it leads to the plant instead. */
struct target_word {
	uint64_t at, function;
};

struct target {
	pid_t pid;
	struct tracee_mappings mappings;
	struct survey *surveys; /* of files with such functions */
	size_t survey_count;
	ARRAY(struct target_function) functions;
	ARRAY(struct target_word) words;    /* if there are no functions */
	const char *interpreter;	    /* the file of Python's; NULL: none leads there */
	const struct attacher *attacher;    /* of the engine */
	char library[SYS_PLANT_PATH_BYTES]; /* the attacher's */
};

/* Has the recorder of a directory of sessions gone? */
typedef bool (*target_is_left_fn)(const char *directory);

/* 0, or -errno with a sentence in `why`; -ENODATA: it has no engine. target_fini() it in either
 * case. */
int target_examine(
	struct target *target, pid_t pid, target_is_left_fn is_left, char why[REFUSAL_BYTES]);
void target_fini(struct target *target);

/* 0: no session is mapped; -EALREADY or, if its recorder is gone, -EOWNERDEAD, with a sentence. */
int target_examine_recorded(pid_t pid, const struct tracee_mappings *mappings,
	target_is_left_fn is_left, char why[REFUSAL_BYTES]);

/*
 * The sentence for an error of ptrace(2) or of /proc/PID/mem, with what to do about it. Returns the
 * error.
 */
int target_refusal(pid_t pid, int error, char why[REFUSAL_BYTES]);

/* Fills in the addresses that a plant needs. 0 or -ENOENT, with a sentence in `why`. */
int target_symbols(const struct target *target, struct sys_plant *plant, char why[REFUSAL_BYTES]);
