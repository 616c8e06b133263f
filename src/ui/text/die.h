/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the user on stderr, each one line "brick: WHAT: WHY". Control characters in them are
 * made harmless, so that file names and names from recordings may be passed as they are. Any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include "brick/export.h"

/* Print and end the program with an exit code of command.h. */
void die(int code, const char *format, ...) BRICK_PRINTF(2, 3) __attribute__((noreturn));

/* Wrong usage: print, point to `brick COMMAND --help`, end with CLI_USAGE. command may be NULL. */
void die_usage(const char *command, const char *format, ...) BRICK_PRINTF(2, 3)
	__attribute__((noreturn));

/* Print only. */
void warn(const char *format, ...) BRICK_PRINTF(1, 2);

/* Whether a line stands on stderr without an end, which messages take back first. Any thread. */
void die_line_set(bool is_shown);

/* What messages begin with from now on: where what is wrong stands. NULL: with nothing. */
void die_where_set(const char *where);
