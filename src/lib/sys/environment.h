/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment as it was when the library was loaded. The program may change its own at any
 * time, on another thread, and getenv() would then read memory that is being freed. A recorder that
 * attaches to a running process hands variables over, which come before these. Any thread.
 */
#pragma once

#include "brick/export.h"

/*
 * Returns the value of a variable; NULL: it was not set, or the process has more rights than its
 * user (a set-user-ID program). Such a user must not tell the process what to write and load.
 */
BRICK_API const char *brick__environment(const char *name);

/*
 * Takes over "NAME=VALUE" strings, each ended by NUL and the last by an empty string, in the place
 * of those from the last call, and calls all readers. While it runs, no hook may be called.
 */
BRICK_API void brick__environment_hand_over(const char *variables);

/* A function that derives settings from the environment. */
struct brick__environment_reader {
	void (*read)(void);
	struct brick__environment_reader *next;
};

/* Calls the reader now, and at each hand-over. It stays in the list for ever. */
BRICK_API void brick__environment_reader(struct brick__environment_reader *reader);

/* ENVIRONMENT_READER(name) { ... } defines a reader that is first called when its library is
 * loaded. */
#define ENVIRONMENT_READER(name)                                                 \
	static void name(void);                                                  \
	__attribute__((constructor)) static void name##_at_load(void)            \
	{                                                                        \
		static struct brick__environment_reader reader = {.read = name}; \
		brick__environment_reader(&reader);                              \
	}                                                                        \
	static void name(void)

/* Copies the environment anew, for tests; no other thread may read the copy meanwhile. */
void brick__environment_read(void);
