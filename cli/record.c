/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brick record: parses the command line, has record/ run the program, says on stderr what came of
 * it. Returns the program's own exit code; stdout is the program's alone.
 */
#include "cli/record.h"

#include <stdio.h>

#include "cli/command.h"

static void print_methods(void)
{
	for (const struct attacher *const *a = attachers; *a; a++) {
		if (!(*a)->methods)
			continue;
		printf("                      for %s also: ", (*a)->title);
		for (const char *const *method = (*a)->methods; *method; method++)
			printf("%s%s", *method, method[1] ? ", " : " (see the manual)\n");
	}
}

static void print_help(void)
{
	char kinds[INJECT_KINDS_BYTES];

	printf("Usage: brick record [OPTIONS] [--] CMD [ARGS...]\n"
	       "\n"
	       "Run CMD, record it and its children, and return its exit code (128 + signal when\n"
	       "a signal ended it, 127 when there is no such command). Programs that use\n"
	       "%s through shared libraries are attached to; programs\n"
	       "with libbrick inside record themselves.\n"
	       "\n"
	       "Options:\n"
	       "  -o, --output FILE   the recording; overwritten (default: run.pftrace)\n"
	       "      --mode MODE     when to synchronise with devices: deferred (default),\n"
	       "                      per-layer, immediate; none records nothing\n"
	       "      --attach WHAT   auto (default); none: only programs with libbrick inside;\n",
		inject_kinds(kinds));
	print_methods();
	fputs("      --rules FILE    map operations to bricks by these rules\n"
	      "      --graph         also record the execution graph\n"
	      "      --tiles[=WHICH] also record tiles: macro,midi (default), micro\n"
	      "      --digest[=all]  also record digests of results: of bricks, or of all nodes\n"
	      "      --counters[=LIST]  also count per step: cycles, page faults, ...\n"
	      "      --off-cpu WHEN  when threads do not run: on (default) or off\n"
	      "      --ring N        records that a thread can be ahead by (default: 262144)\n"
	      "      --interval MS   drain at least this often (default: 1000)\n"
	      "      --no-compress   write plain packets\n"
	      "      --keep-going    run CMD even where it cannot be recorded\n"
	      "      --wait          wait for all recorded processes, not only for CMD\n"
	      "  -q, --quiet         no summary\n"
	      "  -h, --help          show this and exit\n"
	      "\n"
	      "Then: brick report FILE\n",
		stdout);
}

static int run(int argc, char **argv)
{
	struct record_arguments arguments;
	struct recorder_result result;

	if (!record_parse(&arguments, argc, argv)) {
		print_help();
		return CLI_DONE;
	}
	recorder_run(&arguments.options, &result);
	if (result.refused)
		result.exit_code = CLI_SYSTEM;
	if (!arguments.quiet)
		record_summary(&arguments, &result);
	recorder_result_fini(&result);
	record_arguments_fini(&arguments);
	return result.exit_code;
}

const struct cli_command command_record = {
	.name = "record",
	.summary = "run a program and record it",
	.run = run,
};
