/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finished runs of `brick bench`: each is a line of a journal, which is on the disk before the next
 * run begins, and goes into the history. The journal goes when all of them are there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/user_path.h"
#include "cli/cmd_bench.h"
#include "cli/history_runs.h"
#include "cli/die.h"

/* Beside the history's own file, else where the bench was called. The caller frees. */
static char *journal_place(const struct bench *bench)
{
	char *path = user_path(USER_DATA, "%s.bench", bench->batch);

	if (!path)
		path = xasprintf("%s.bench", bench->batch);
	user_path_make(path);
	return path;
}

static void take_line(struct bench *bench, const char *line, size_t bytes)
{
	struct bench_run run = {0};

	if (history_run_parse(&run.entry, line, bytes) < 0)
		die(CLI_INPUT, "%s: is no journal of a bench", bench->journal_path);
	size_t n = strlen(run.entry.batch);
	run.side = n > 1 ? (enum bench_side)(run.entry.batch[n - 1] - 'a') : BENCH_SIDES;
	if ((unsigned)run.side >= BENCH_SIDES)
		die(CLI_INPUT, "%s: is no journal of a bench", bench->journal_path);
	run.is_recorded = strcmp(run.entry.kind, "plain") != 0;
	run.value = bench->arguments.value || bench->arguments.rate ? run.entry.value
								    : (double)run.entry.wall_ns;
	free(bench->batch);
	bench->batch = xasprintf("%.*s", (int)n - 2, run.entry.batch);
	xpush(&bench->runs, run);
}

/* All whole lines; what a killed writer left of one is cut off. */
static void resume(struct bench *bench)
{
	SCOPED char *line = NULL;
	size_t capacity = 0;
	long whole = 0;

	bench->journal_path = xstrdup(bench->arguments.resume);
	bench->journal = fopen(bench->journal_path, "r+e");
	if (!bench->journal)
		die(CLI_INPUT, "%s: %s", bench->journal_path, strerror(errno));
	for (ssize_t n; (n = getline(&line, &capacity, bench->journal)) > 0;) {
		if (line[n - 1] != '\n')
			break;
		take_line(bench, line, (size_t)n);
		whole = ftell(bench->journal);
	}
	if (ftruncate(fileno(bench->journal), whole) || fseek(bench->journal, whole, SEEK_SET))
		die(CLI_SYSTEM, "%s: %s", bench->journal_path, strerror(errno));
}

void bench_journal_open(struct bench *bench)
{
	bench->batch =
		xasprintf("bench-%llx-%x", (unsigned long long)time(NULL), (unsigned)getpid());
	if (bench->arguments.resume) {
		resume(bench);
		return;
	}
	bench->journal_path = journal_place(bench);
	bench->journal = fopen(bench->journal_path, "we");
	if (!bench->journal)
		warn("bench: %s: %s: finished runs are in the history only", bench->journal_path,
			strerror(errno));
}

static bool write_line(struct bench *bench, const char *line)
{
	FILE *out = bench->journal;
	long whole = ftell(out);

	if (fprintf(out, "%s\n", line) > 0 && fflush(out) == 0 && fdatasync(fileno(out)) == 0)
		return true;
	bench->fault =
		xasprintf("%s: %s: measuring ends here", bench->journal_path, strerror(errno));
	if (whole >= 0 && ftruncate(fileno(out), whole))
		warn("bench: %s: %s", bench->journal_path, strerror(errno));
	return false;
}

bool bench_journal_add(struct bench *bench, const struct bench_run *run)
{
	SCOPED char *line = bench->journal ? history_run_line(&run->entry) : NULL;
	bool good = !line || write_line(bench, line);

	if (!bench->arguments.no_history)
		bench->all_kept &= history_runs_keep(bench->arguments.db, &run->entry) == 0;
	return good;
}

void bench_journal_close(struct bench *bench, bool keep)
{
	if (bench->journal) {
		fclose(bench->journal);
		if (keep && bench->runs.count)
			warn("bench: its runs are in %s; 'brick bench --resume' goes on with them",
				bench->journal_path);
		else
			unlink(bench->journal_path);
	}
	free(bench->journal_path);
}
