/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options. Called by all commands but record, which must leave its child's alone. */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/step_times.h"
#include "cli/command.h"
#include "view/die.h"
#include "view/output.h"

static void complain(char **argv, int problem, const struct option *longs)
{
	const char *given = optind > 0 ? argv[optind - 1] : "";
	if (problem == ':')
		die_usage(argv[0], "%s: needs a value", given);
	for (const struct option *o = longs; o->name; o++)
		if (optopt && optopt == o->val && o->has_arg == no_argument)
			die_usage(argv[0], "--%s: takes no value", o->name);
	if (optopt && given[0] == '-' && given[1] != '-')
		die_usage(argv[0], "-%c: no such option", optopt);
	die_usage(argv[0], "%s: no such option", given);
}

int options_next(
	int argc, char **argv, const char *shorts, const struct option *longs, const char *help)
{
	char all[32];
	opterr = 0;
	snprintf(all, sizeof(all), ":h%s", shorts);
	int c = getopt_long(argc, argv, all, longs, NULL);
	if (c == '?' || c == ':')
		complain(argv, c, longs);
	if (c == 'h') {
		fputs(help, stdout);
		exit(output_finish(CLI_DONE));
	}
	return c;
}

unsigned long options_number(const char *command, const char *option, const char *text,
	unsigned long low, unsigned long high)
{
	char *end;
	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (errno || end == text || *end || strchr(text, '-') || n < low || n > high)
		die_usage(command, "%s %s: must be a whole number from %lu to %lu", option, text,
			low, high);
	return n;
}

int options_phase(const char *command, const char *text)
{
	if (!strcmp(text, "prefill"))
		return STEP_PREFILL;
	if (!strcmp(text, "decode"))
		return STEP_DECODE;
	die_usage(command, "--phase %s: must be prefill or decode", text);
}
