/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment as it was when the library was loaded. The program may change its own at any
 * time, on another thread, and getenv() would then read memory that is being freed. Any thread.
 */
#pragma once

#include "brick/export.h"

/*
 * Returns the value of a variable; NULL: it was not set, or the process has more rights than its
 * user (a set-user-ID program). Such a user must not tell the process what to write and load.
 */
BRICK_API const char *brick__environment(const char *name);

/* Copies the environment anew, for tests; no other thread may read the copy meanwhile. */
void brick__environment_read(void);
