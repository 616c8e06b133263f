/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of a program's environment that differ from ours: "NAME=VALUE". One thread. */
#pragma once

#include "base/array.h"

struct environment {
	ARRAY(char *) variables;
};

/* Add one, formatted. 0 or -ENOMEM. */
int environment_add(struct environment *env, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void environment_fini(struct environment *env);

/* Make them our own; between fork and exec. The strings are the process's from then on. -errno. */
int environment_apply(const struct environment *env);
