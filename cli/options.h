/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a command: getopt_long() whose complaints look like all other messages. Main thread.
 */
#ifndef BRICK_CLI_OPTIONS_H
#define BRICK_CLI_OPTIONS_H

#include <getopt.h>

/*
 * shorts: letters of options besides -h, as for getopt, or "". The next option's `val`, or -1 after
 * the last; `-h` and `--help` (val 'h') print help and end the program, as does wrong usage.
 * Options and operands may be mixed.
 */
int options_next(
	int argc, char **argv, const char *shorts, const struct option *longs, const char *help);

/* A whole number from low to high, or wrong usage. option: as the user wrote it, for messages. */
unsigned long options_number(const char *command, const char *option, const char *text,
	unsigned long low, unsigned long high);

/* "prefill" or "decode" as an enum step_phase, or wrong usage of --phase. */
int options_phase(const char *command, const char *text);

#endif
