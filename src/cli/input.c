/* SPDX-License-Identifier: Apache-2.0 */
/* Loads recordings for commands, and turns what goes wrong into messages. */
#include "cli/input.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/die.h"
#include "cli/progress.h"
#include "trace/load.h"
#include "ui/text/trust_text.h"
#include "ui/text/recording_file.h"

/* The name that `brick record` uses without -o. */
#define DEFAULT_NAME "run.pftrace"

static uint64_t input_read_before;
static bool in_batch;
static struct progress *batch; /* NULL: nothing shows progress */

static uint64_t read_of_this(void)
{
	return run_load_read_bytes() - input_read_before;
}

static uint64_t input_size_of(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static struct progress *input_start_progress(const char *path)
{
	if (in_batch)
		return NULL;
	input_read_before = run_load_read_bytes();
	return progress_start(path, read_of_this, input_size_of(path));
}

void input_batch_begin(char *const *paths, size_t count)
{
	char what[32];
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++)
		total += input_size_of(paths[i]);
	snprintf(what, sizeof(what), "%zu recordings", count);
	input_read_before = run_load_read_bytes();
	batch = progress_start(what, read_of_this, total);
	in_batch = true;
}

void input_batch_end(void)
{
	progress_end(batch);
	batch = NULL;
	in_batch = false;
}

/* fault: what is wrong, if that is not memory; NULL: the program ends then. */
static struct run *load_by(int (*load)(struct run **, const char *, struct load_error *),
	const char *path, char **fault)
{
	struct load_error error = {0};
	struct run *run = NULL;
	struct progress *progress = input_start_progress(path);
	int rc = load(&run, path, &error);
	progress_end(progress);
	if (rc < 0 && rc != -ENOMEM && fault)
		*fault = xstrdup(recording_fault(rc, &error));
	else if (rc < 0)
		die(rc == -ENOMEM ? CLI_SYSTEM : CLI_INPUT, "%s: %s", path,
			recording_fault(rc, &error));
	if (run && run->path && strcmp(run->path, path))
		warn("%s: not there (yet); reading %s, which is not finished", path, run->path);
	return run;
}

struct run *input_load(const char *path)
{
	return load_by(run_load, path, NULL);
}

struct run *input_load_or_warn(const char *path)
{
	SCOPED char *fault = NULL;
	struct run *run = load_by(run_load, path, &fault);
	if (fault)
		warn("%s: %s", path, fault);
	return run;
}

struct run *input_load_totals(const char *path)
{
	return load_by(run_load_totals, path, NULL);
}

struct run *input_load_telling(const char *path)
{
	struct run *run = input_load(path);

	input_tell_all_losses(run);
	return run;
}

void input_tell_all_losses(const struct run *run)
{
	struct losses losses;

	losses_of_run(&losses, run, 0);
	input_tell_losses(run, &losses);
}

void input_tell_losses(const struct run *run, const struct losses *losses)
{
	uint64_t count;
	char what[LOSS_BYTES];

	input_tell_unfinished(run);
	for (size_t k = 0; losses_describe(losses, k, &count, what); k++)
		warn("%s: %llu %s", run->path, (unsigned long long)count, what);
}

void input_tell_unfinished(const struct run *run)
{
	if (!run->complete && run->truncated_bytes)
		warn("%s: never finished: cut off behind byte %llu; this is what was in it",
			run->path, (unsigned long long)run->truncated_at);
	else if (!run->complete)
		warn("%s: never finished; this is what was in it", run->path);
}

void input_budget(struct report_budget *budget, const char *path)
{
	struct budget_error error;
	int rc = report_budget_open(budget, path, &error);

	if (rc == -ENOMEM)
		die(CLI_SYSTEM, "%s: not enough memory to read it", path);
	if (rc < 0 && error.line)
		die(CLI_INPUT, "%s:%u: %s", path, error.line, error.text);
	if (rc < 0)
		die(CLI_INPUT, "%s: %s", path, error.text);
}

void input_budget_judge(struct report_budget *budget, const struct run *run)
{
	if (report_budget_judge(budget, run) < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", run->path);
}

const char *input_operand(int argc, char **argv)
{
	if (optind >= argc && access(DEFAULT_NAME, F_OK) && access(DEFAULT_NAME ".part", F_OK))
		die_usage(argv[0], "no recording given, and there is no %s here", DEFAULT_NAME);
	if (optind >= argc)
		return DEFAULT_NAME;
	if (optind + 1 < argc)
		die_usage(argv[0], "%s: one recording at a time, please", argv[optind + 1]);
	return strcmp(argv[optind], "-") ? argv[optind] : "/dev/stdin";
}
