/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a command with a message and an exit code, the same for all commands (docs: brick.1, EXIT
 * STATUS). Only commands call this. Any thread.
 */
#pragma once

#include "ui/text/text.h"

enum cli_exit {
	CLI_DONE = 0,
	CLI_GATE = 1,	     /* a gate failed: regression, divergence, budget, coverage */
	CLI_USAGE = 2,	     /* wrong usage */
	CLI_INPUT = 3,	     /* bad input file */
	CLI_SYSTEM = 4,	     /* the system lacks something, or writing failed */
	CLI_NOT_KNOWN = 125, /* nothing can be said: 'git bisect run' skips the commit */
};

/* Print "brick: MESSAGE" on stderr, and end the program with an exit code. */
void die(int code, const char *format, ...) BRICK_PRINTF(2, 3) __attribute__((noreturn));

/* Wrong usage: print, point to `brick COMMAND --help`, end with CLI_USAGE. command may be NULL. */
void die_usage(const char *command, const char *format, ...) BRICK_PRINTF(2, 3)
	__attribute__((noreturn));

/* Memory for commands: without memory, these functions end the program with CLI_SYSTEM. */

/* None of these returns NULL; the caller frees (SCOPED). */
void *xcalloc(size_t n, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *format, ...) BRICK_PRINTF(1, 2);

/*
 * Append to *text, which is reallocated; NULL is an empty text. `between` comes first if *text is
 * not empty.
 */
void xappend(char **text, const char *between, const char *format, ...) BRICK_PRINTF(3, 4);

/* Append an item to an ARRAY. */
#define xpush(array, ...) xcheck(array_push((array), __VA_ARGS__))

/* Ends the program if rc is negative. Only for calls that can fail for lack of memory alone. */
void xcheck(int rc);
