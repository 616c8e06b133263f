/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder of the programs is this executable itself (`brick record`). */
#include "cli/program_runs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/user_path.h"
#include "cli/die.h"
#include "cli/history_runs.h"
#include "record/runner/turn_launch.h"
#include "trace/load.h"

enum { TAIL_LINES = 8, RECORD_WORDS = 7 };

volatile sig_atomic_t program_interrupted;

static void interrupt(int signal)
{
	program_interrupted = signal;
}

void program_runs_begin(const char *command, char **directory, char **output)
{
	const struct sigaction action = {.sa_handler = interrupt};
	const char *temporary = getenv("TMPDIR");

	*directory = xasprintf(
		"%s/brick-%s-XXXXXX", temporary && *temporary ? temporary : "/tmp", command);
	if (!mkdtemp(*directory))
		die(CLI_SYSTEM, "%s: %s: %s", command, *directory, strerror(errno));
	*output = xasprintf("%s/output", *directory);
	int rc = launch_begin(*output);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: no process to run programs from: %s", command, strerror(-rc));
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void program_runs_end(char *directory, char *output)
{
	launch_end();
	if (directory) {
		unlink(output);
		rmdir(directory);
	}
	free(directory);
	free(output);
}

char *program_line(char *const *argv)
{
	char *line = xstrdup("");

	for (; *argv; argv++) {
		bool is_plain = **argv && !strpbrk(*argv, " \t\n'\"\\$*?;&|<>()");
		xappend(&line, " ", is_plain ? "%s" : "'%s'", *argv);
	}
	return line;
}

char **program_recorder(char *const *command, const char *recording)
{
	static char self[PATH_MAX];
	size_t words = 0;

	file_link("/proc/self/exe", self, sizeof(self));
	while (command[words])
		words++;
	char **argv = xcalloc(words + RECORD_WORDS + 1, sizeof(*argv));
	char *const first[RECORD_WORDS] = {*self ? self : (char *)"brick", (char *)"record",
		(char *)"-q", (char *)"--no-history", (char *)"-o", (char *)recording,
		(char *)"--"};
	memcpy(argv, first, sizeof(first));
	memcpy(argv + RECORD_WORDS, command, words * sizeof(*argv));
	return argv;
}

char *program_fault(const char *line, int exit_code, const char *output)
{
	SCOPED char *tail = launch_tail(output, TAIL_LINES) ?: xstrdup("");

	return exit_code == 127 || exit_code == 126
		       ? xasprintf("%s: cannot be run (exit code %d)", line, exit_code)
		       : xasprintf("%s: exit code %d; %s%s", line, exit_code,
				 *tail ? "its last lines: " : "it printed nothing", tail);
}

bool program_recorded(struct history_run *entry, const char *recording, bool is_kept,
	const char *output, char **fault)
{
	struct load_error error = {0};
	SCOPED_TO(run_destroy) struct run *loaded = NULL;

	if (run_load(&loaded, recording, &error) < 0 || !loaded->step_count) {
		SCOPED char *tail = launch_tail(output, TAIL_LINES) ?: xstrdup("");
		*fault = xasprintf(
			"%s; 'bench --plain' compares what cannot be recorded. Last lines: %s",
			loaded ? "the recording has no steps: there are no tokens in it"
			       : "no recording was made",
			tail);
		return false;
	}
	history_entry_init(entry, loaded, is_kept ? recording : NULL);
	return true;
}

void program_directory(const char *directory)
{
	if (!directory)
		return;
	user_path_make(directory);
	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		die(CLI_SYSTEM, "%s: %s", directory, strerror(errno));
}
