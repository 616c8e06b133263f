/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel would run for a path, and whether our libraries can be preloaded into it. Takes
 * no lock and no memory, so that also the child of a fork may ask. Any thread.
 */
#pragma once

#include "brick/export.h"

enum brick__executable {
	BRICK__EXECUTABLE_FINE,	      /* also what is no program */
	BRICK__EXECUTABLE_SANITIZED,  /* fine: linked with the address sanitizer as a library */
	BRICK__EXECUTABLE_STATIC,     /* linked statically */
	BRICK__EXECUTABLE_FOREIGN,    /* for another kind of CPU, or 32-bit */
	BRICK__EXECUTABLE_OTHER_LIBC, /* for another C library (musl, Android's) than ours */
	BRICK__EXECUTABLE_PRIVILEGED, /* gets another user, group or capabilities */
};

/*
 * For ASAN_OPTIONS of a sanitized program: the sanitizer's library ends one in which it is not the
 * first.
 */
#define BRICK__SANITIZED_OPTION "verify_asan_link_order=0"

/*
 * Before a library's absolute path in LD_PRELOAD: the same path to a dynamic linker of glibc, which
 * replaces $LIB (ld.so(8)), and no file to musl's. There are more ".." than folders.
 */
#define BRICK__THROUGH_LIB "/usr/$LIB/../../../../../../../.."

/* A script is what its interpreter is. */
BRICK_API enum brick__executable brick__executable_examine(const char *path);
