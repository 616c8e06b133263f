/* SPDX-License-Identifier: Apache-2.0 */
/* Whole strings, as putenv() wants them. */
#include "record/inject/environment.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int environment_add(struct environment *env, const char *format, ...)
{
	va_list arguments;
	char *variable;

	if (array_reserve(&env->variables, (size_t)1))
		return -ENOMEM;
	va_start(arguments, format);
	int n = vasprintf(&variable, format, arguments);
	va_end(arguments);
	if (n < 0)
		return -ENOMEM;
	return array_push(&env->variables, variable);
}

void environment_fini(struct environment *env)
{
	for (size_t i = 0; i < env->variables.count; i++)
		free(env->variables.items[i]);
	array_fini(&env->variables);
}

int environment_apply(const struct environment *env)
{
	for (size_t i = 0; i < env->variables.count; i++)
		if (putenv(env->variables.items[i]))
			return -errno;
	return 0;
}
