/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors. Library functions return >= 0 on success and a negative code on failure: -errno, or one
 * of the codes below. Any thread.
 */
#ifndef BRICK_ERROR_H
#define BRICK_ERROR_H

#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Brick's own codes, which lie below every -errno. X(name, value, text) */
#define BRICK_ERRORS(X)                                                                 \
	X(BRICK_EFORMAT, -4001, "not in a format that Brick knows")                     \
	X(BRICK_ETRUNCATED, -4002, "the data ends in the middle of an element")         \
	X(BRICK_EVERSION, -4003, "written by an incompatible version")                  \
	X(BRICK_EFULL, -4004, "a fixed-size table is full")                             \
	X(BRICK_ENOTRECORDED, -4005, "nothing was recorded")                            \
	X(BRICK_EUNSUPPORTED, -4006, "not supported on this machine or by this engine") \
	X(BRICK_ESTATE, -4007, "not possible in the present state")                     \
	X(BRICK_ERANGE, -4008, "a value lies outside of its permitted range")           \
	X(BRICK_ECYCLE, -4009, "the graph has a cycle")                                 \
	X(BRICK_EDEVICE, -4010, "the device or its driver reported a failure")

/* Brick's own codes, by name. */
enum brick_error {
#define BRICK_X(name, value, text) name = value,
	BRICK_ERRORS(BRICK_X)
#undef BRICK_X
};

/* Text for a code that any Brick function returned, also for -errno. Never NULL; static text. */
BRICK_API const char *brick_strerror(int code);

BRICK_END_DECLS

#endif
