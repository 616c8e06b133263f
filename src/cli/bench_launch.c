/* SPDX-License-Identifier: Apache-2.0 */
/* One run of `brick bench`, plain or recorded, as an entry of a history. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cmd_bench.h"
#include "trace/load.h"
#include "cli/history_entry.h"
#include "cli/die.h"

enum { TAIL_LINES = 8, RECORD_WORDS = 7 };

/* "a 'b c'": only to be shown and to be told apart. The caller frees. */
static char *line_of(char *const *argv)
{
	char *line = xstrdup("");

	for (; *argv; argv++) {
		bool is_plain = **argv && !strpbrk(*argv, " \t\n'\"\\$*?;&|<>()");
		xappend(&line, " ", is_plain ? "%s" : "'%s'", *argv);
	}
	return line;
}

static char **recorder_of(char *const *command, const char *recording)
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

static bool failed(struct bench *bench, const char *command, int exit_code)
{
	SCOPED char *tail = launch_tail(bench->output, TAIL_LINES);

	bench->fault = exit_code == 127 || exit_code == 126
			       ? xasprintf("%s: cannot be run (exit code %d)", command, exit_code)
			       : xasprintf("%s: exit code %d; its last lines:\n%s", command,
					 exit_code, tail);
	return false;
}

static bool take_plain(struct bench *bench, const struct launch_result *result, const char *command,
	struct bench_run *run)
{
	const struct bench_arguments *a = &bench->arguments;
	const char *expression = a->value ? a->value : a->rate;

	run->value = (double)result->wall_ns;
	if (expression && launch_value(bench->output, expression, &run->value) != 1) {
		bench->fault =
			xasprintf("%s: nothing in what it printed matches %s", command, expression);
		return false;
	}
	history_entry_here(&run->entry, "plain", command);
	run->entry.wall_ns = result->wall_ns;
	run->entry.value = expression ? run->value : 0;
	run->entry.exit_code = 0;
	return true;
}

static bool take_recorded(struct bench *bench, const char *recording, struct bench_run *run)
{
	struct load_error error = {0};
	SCOPED_TO(run_destroy) struct run *loaded = NULL;

	if (run_load(&loaded, recording, &error) < 0 || !loaded->step_count) {
		SCOPED char *tail = launch_tail(bench->output, TAIL_LINES);
		bench->fault = xasprintf("%s; --plain compares what cannot be recorded. Last "
					 "lines:\n%s",
			loaded ? "the recording has no steps: there are no tokens in it"
			       : "no recording was made",
			tail);
		return false;
	}
	history_entry_init(&run->entry, loaded, bench->arguments.keep ? recording : NULL);
	return true;
}

bool bench_launch(struct bench *bench, const struct bench_work *work, struct bench_run *run)
{
	char *const *command = bench->commands[work->side];
	SCOPED char *line = line_of(command);
	SCOPED char *recording = xasprintf("%s/%c%zu.pftrace",
		bench->arguments.keep ? bench->arguments.keep : bench->directory, "abc"[work->side],
		bench -> runs.count);
	SCOPED char **recorder = work->is_recorded ? recorder_of(command, recording) : NULL;
	struct machine_state before, after;
	struct launch_result result;
	struct machine_change change;

	*run = (struct bench_run){.side = work->side, .is_recorded = work->is_recorded};
	machine_state_read(&before);
	int rc = launch_run(recorder ? recorder : (char **)command, bench->output, &result);
	machine_state_read(&after);
	bool good = rc == 0 && result.exit_code == 0;
	if (rc < 0)
		bench->fault = xasprintf("%s: %s", line, strerror(-rc));
	else if (!good)
		failed(bench, line, result.exit_code);
	else
		good = work->is_recorded ? take_recorded(bench, recording, run)
					 : take_plain(bench, &result, line, run);
	if (good) {
		struct bench_machine *m = &bench->machine;
		machine_state_between(&change, &before, &after, result.cpu_ns);
		m->disturbed += machine_change_disturbs(&change) != 0;
		m->steal += (change.steal - m->steal) / ++m->runs;
		m->others += (change.others - m->others) / m->runs;
		m->swapped += change.swapped;
	}
	if (work->is_recorded && !bench->arguments.keep)
		unlink(recording);
	return good;
}
