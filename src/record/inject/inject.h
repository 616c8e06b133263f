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

/* Why an attacher cannot be loaded. A new one gets a text in inject_obstacle_text(). */
enum inject_obstacle {
	INJECT_FINE,	   /* nothing prevents it */
	INJECT_NO_LIBRARY, /* the attacher's library is not in its place */
	INJECT_BAD_PATH,   /* its path is too long, or has a blank or colon, which separate paths */
	INJECT_STATIC,	   /* the program is linked statically */
	INJECT_FOREIGN,	   /* the program is for another kind of CPU, or 32-bit */
	INJECT_OTHER_LIBC, /* the program is for another C library than ours (musl, Android's) */
	INJECT_PRIVILEGED, /* the program is set-user-ID or set-group-ID, or has capabilities */
};

/* Find the file that a shell would run for a command's name. 1; 0: there is none. */
int inject_resolve(const char *command, char *path, size_t bytes);

/* Examine a program's file. A file that is no ELF file (a script) is INJECT_FINE. */
enum inject_obstacle inject_examine(const char *program);

/* Its environment. */

/* Variables of a program's environment that differ from ours: "NAME=VALUE". */
struct environment {
	ARRAY(char *) variables;
};

/* Add a variable, formatted. A later variable of the same name wins. 0 or -ENOMEM. */
int environment_add(struct environment *env, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void environment_fini(struct environment *env);

/*
 * Set the variables in our own process, between fork and exec. The process keeps pointers to the
 * strings, so env must not be freed afterwards. 0 or -errno.
 */
int environment_apply(const struct environment *env);

/* Our libraries. */

/* Find the attacher's library beside this program's own file. `path` has PATH_MAX bytes. */
enum inject_obstacle inject_library(const struct attacher *attacher, char *path, size_t bytes);

/* True if this machine has the driver (it is opened to see), or the attacher needs none. */
bool inject_has_driver(const struct attacher *attacher);

/* True if the driver and the library are there, and no variable of the user keeps it out. */
bool inject_is_ready(const struct attacher *attacher);

/*
 * Add variables to env that load all available attachers into a command. *obstacle: why none can be
 * preloaded; the others may load all the same. 0 or -ENOMEM.
 */
int inject_all(struct environment *env, const char *command, enum inject_obstacle *obstacle);

/* Writes the titles of all attachers, "ggml, OpenCL, Vulkan or CUDA"; returns text. */
enum { INJECT_KINDS_BYTES = 256 };
const char *inject_kinds(char text[INJECT_KINDS_BYTES]);

/* The end of a sentence that begins with "nothing was attached: "; "" for INJECT_FINE. */
const char *inject_obstacle_text(enum inject_obstacle obstacle);

/* Advice for the user; NULL: none. */
const char *inject_obstacle_advice(enum inject_obstacle obstacle);
