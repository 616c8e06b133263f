/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h on Linux: one block of all variables, each ended by NUL, made before any other
 * constructor of ours runs, and never freed; and a block of what a recorder has handed over.
 */
#include "lib/sys/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { FIRST = 101 }; /* of the constructors that are not the C library's own */

static char *variables; /* NULL: there are none */
static char *handed_over, *retired;
static bool is_read;
static struct brick__environment_reader *readers;

void brick__environment_read(void)
{
	size_t used = 0, room = 0;
	const char *one;

	is_read = true;
	free(variables);
	variables = NULL;
	/* each is looked at once: in a running process another thread may set it meanwhile */
	for (char **v = getauxval(AT_SECURE) ? NULL : environ; v && (one = *v); v++) {
		size_t bytes = strlen(one) + 1;
		char *grown = used + bytes < room ? variables
						  : realloc(variables, room = 2 * (used + bytes));
		if (!grown)
			return;
		variables = grown;
		memcpy(variables + used, one, bytes);
		variables[used += bytes] = '\0';
	}
}

__attribute__((constructor(FIRST))) static void read_first(void)
{
	if (!is_read) /* a constructor of the program may have come first */
		brick__environment_read();
}

static const char *environment_find(const char *block, const char *name)
{
	size_t length = strlen(name);

	for (const char *v = block; v && *v; v += strlen(v) + 1)
		if (!strncmp(v, name, length) && v[length] == '=')
			return v + length + 1;
	return NULL;
}

const char *brick__environment(const char *name)
{
	if (!is_read)
		brick__environment_read();
	const char *value = environment_find(__atomic_load_n(&handed_over, __ATOMIC_ACQUIRE), name);
	return value ? value : environment_find(variables, name);
}

void brick__environment_hand_over(const char *block)
{
	size_t bytes = 1;

	for (const char *v = block; *v; v += strlen(v) + 1)
		bytes += strlen(v) + 1;
	char *taken = *block ? malloc(bytes) : NULL;
	if (taken)
		memcpy(taken, block, bytes);
	free(retired); /* nobody reads it since the hand-over before */
	retired = __atomic_exchange_n(&handed_over, taken, __ATOMIC_ACQ_REL);
	for (struct brick__environment_reader *r = readers; r; r = r->next)
		r->read();
}

void brick__environment_reader(struct brick__environment_reader *reader)
{
	struct brick__environment_reader **end = &readers;

	while (*end)
		end = &(*end)->next;
	*end = reader;
	reader->read();
}
