/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a program: which one it is, and whether preloading would have an effect. Any thread.
 */
#pragma once

#include <stddef.h>

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
