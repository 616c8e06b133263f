/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h on Linux: one block of all variables, each ended by NUL, made before any other
 * constructor of ours runs, and never freed.
 */
#include "lib/sys/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { FIRST = 101 }; /* of the constructors that are not the C library's own */

static char *variables; /* NULL: there are none */
static bool is_read;

void brick__environment_read(void)
{
	char **all = getauxval(AT_SECURE) ? NULL : environ;
	size_t bytes = 1;

	is_read = true;
	free(variables);
	for (char **v = all; v && *v; v++)
		bytes += strlen(*v) + 1;
	variables = malloc(bytes);
	char *at = variables;
	for (char **v = all; at && v && *v; v++)
		at = stpcpy(at, *v) + 1;
	if (at)
		*at = '\0';
}

__attribute__((constructor(FIRST))) static void read_first(void)
{
	if (!is_read) /* a constructor of the program may have come first */
		brick__environment_read();
}

const char *brick__environment(const char *name)
{
	size_t length = strlen(name);

	if (!is_read)
		brick__environment_read();
	for (const char *v = variables; v && *v; v += strlen(v) + 1)
		if (!strncmp(v, name, length) && v[length] == '=')
			return v + length + 1;
	return NULL;
}
