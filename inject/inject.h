/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting into the program: finds the library that is preloaded, and looks at the program's file
 * for reasons why preloading would have no effect. One thread.
 */
#ifndef BRICK_INJECT_INJECT_H
#define BRICK_INJECT_INJECT_H

#include <limits.h>
#include <stddef.h>

/* What stands in the way. */
enum inject_obstacle {
	INJECT_FINE,
	INJECT_NO_LIBRARY, /* libbrick-ggml.so is not where it should be */
	INJECT_BAD_PATH,   /* its path has a space or colon, which LD_PRELOAD cannot express */
	INJECT_STATIC,	   /* the program is linked statically */
	INJECT_FOREIGN,	   /* the program is for another kind of CPU or 32-bit */
	INJECT_PRIVILEGED, /* the program is set-user-ID or set-group-ID */
};

/* Where the library is, seen from this program's own file; path is PATH_MAX bytes. */
enum inject_obstacle inject_library(char *path, size_t bytes);

/* The same for one that Brick may have been built without ("libbrick-opencl.so"): 1 when it is
 * there. */
int inject_further(const char *name, char *path, size_t bytes);

/* The file that a shell would run for a command's name; 0 when there is none. */
int inject_resolve(const char *command, char *path, size_t bytes);

/* What the program's file says. Anything that is no ELF file (a script) is fine. */
enum inject_obstacle inject_examine(const char *program);

/* As the end of a sentence that begins with "nothing was attached: ". */
const char *inject_obstacle_text(enum inject_obstacle obstacle);

#endif
