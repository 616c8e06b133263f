/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting attachers into a program: finds their libraries beside this program, and puts into the
 * program's environment what loads them. One thread.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/array.h"
#include "record/inject/attachers.h"

/* The program. */

/* What stands in the way of attaching. */
enum inject_obstacle {
	INJECT_FINE,
	INJECT_NO_LIBRARY, /* its library is not where it should be */
	INJECT_BAD_PATH,   /* its path has a space or colon, which LD_PRELOAD cannot express */
	INJECT_STATIC,	   /* the program is linked statically */
	INJECT_FOREIGN,	   /* the program is for another kind of CPU or 32-bit */
	INJECT_OTHER_LIBC, /* it is for another C library (musl, Android's) than we are */
	INJECT_PRIVILEGED, /* it is set-user-ID or set-group-ID, or has capabilities */
};

/* The file that a shell would run for a command's name; 0 when there is none. */
int inject_resolve(const char *command, char *path, size_t bytes);

/* What the program's file says. Anything that is no ELF file (a script) is fine. */
enum inject_obstacle inject_examine(const char *program);

/* Its environment. */

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

/* Our libraries. */

/* Where the library is, seen from this program's own file; path is PATH_MAX bytes. */
enum inject_obstacle inject_library(const struct attacher *attacher, char *path, size_t bytes);

/* Programs of this kind can be there: the driver is, or none is needed. It is opened to see. */
bool inject_has_driver(const struct attacher *attacher);

/* And its library gets into them, unless the user has set what would bring it in. */
bool inject_is_ready(const struct attacher *attacher);

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
