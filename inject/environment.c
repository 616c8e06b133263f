/* SPDX-License-Identifier: Apache-2.0 */
/* Whole strings, as putenv() wants them. */
#include "inject/environment.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int environment_add(struct environment *env, const char *format, ...)
{
	va_list arguments;
	char *variable;

	char **grown = realloc(env->variables, (env->count + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	env->variables = grown;
	va_start(arguments, format);
	int n = vasprintf(&variable, format, arguments);
	va_end(arguments);
	if (n < 0)
		return -ENOMEM;
	env->variables[env->count++] = variable;
	return 0;
}

void environment_fini(struct environment *env)
{
	for (size_t i = 0; i < env->count; i++)
		free(env->variables[i]);
	free(env->variables);
	*env = (struct environment){0};
}

int environment_apply(const struct environment *env)
{
	for (size_t i = 0; i < env->count; i++)
		if (putenv(env->variables[i]))
			return -errno;
	return 0;
}
