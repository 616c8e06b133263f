/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting attachers into a program: finds their libraries beside this program, and puts into the
 * program's environment what loads them. One thread.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include "base/array.h"
#include "record/inject/attachers.h"
#include "record/inject/target_program.h"

/* Variables of a program's environment that differ from ours: "NAME=VALUE". */
struct environment {
	ARRAY(char *) variables;
};

/* Add one, formatted. 0 or -ENOMEM. */
int environment_add(struct environment *env, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void environment_fini(struct environment *env);

/* Make them our own; between fork and exec. The strings are the process's from then on. -errno. */
int environment_apply(const struct environment *env);

/* Where the library is, seen from this program's own file; path is PATH_MAX bytes. */
enum inject_obstacle inject_library(const struct attacher *attacher, char *path, size_t bytes);

/*
 * Add to env what gets all attachers that are here into a command. *obstacle: why none can be
 * preloaded. 0 or -ENOMEM.
 */
int inject_all(struct environment *env, const char *command, enum inject_obstacle *obstacle);

/* "ggml, OpenCL, Vulkan or CUDA": what is attached to; returns text. */
enum { INJECT_KINDS_BYTES = 256 };
const char *inject_kinds(char text[INJECT_KINDS_BYTES]);

/* As the end of a sentence that begins with "nothing was attached: ". */
const char *inject_obstacle_text(enum inject_obstacle obstacle);
/* What would help; NULL: nothing is known to. */
const char *inject_obstacle_advice(enum inject_obstacle obstacle);
