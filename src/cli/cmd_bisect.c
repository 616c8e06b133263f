/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick bisect`: finds the first slower build in a list of builds or commits, and the slower
 * brick. The first and the last build are recorded in turns until the brick that differs is known.
 * Then each build in the middle runs in turns with the first one: it is bad if that brick is slower
 * by more than half of the difference between the ends, of which the interval's low end counts:
 * chance may have made the ends differ more. Builds that fail are passed over.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/compare/bisection.h"
#include "analysis/compare/compare.h"
#include "analysis/compare/history_parts.h"
#include "base/array.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/options.h"
#include "cli/program_runs.h"
#include "record/runner/turn_launch.h"
#include "trace/run.h"
#include "ui/text/bisect_view.h"
#include "ui/text/difference_text.h"
#include "ui/text/text.h"

struct bisect_arguments {
	const char *builds, *commits, *build;
	unsigned long runs;
	double threshold;
	bool json, quiet;
};

struct build {
	char *name;
	char *directory; /* the work tree of a commit; NULL: not made yet, or no commit */
	ARRAY(struct history_run) runs;
};

struct bisect {
	struct bisect_arguments arguments;
	char **words; /* {} stands for the build */
	ARRAY(struct build) builds;
	ARRAY(struct bisect_step) steps;
	bool *is_skipped;
	char *directory, *output, *fault; /* fault: why the last run failed; NULL: it did not */
	/* the measure that builds are judged by */
	int phase;
	char *brick; /* NULL: the whole token */
};

enum { RUNS_MIN = 4, FILE_BYTES_MAX = 16 << 20, EXIT_NOT_KNOWN = 125 };

/* Running builds. */

/* A list of words with the build in place of {}; the caller frees it by run_list_free(). */
static char **cmd_bisect_command_of(const struct bisect *b, const struct build *build)
{
	const char *in_place = build->directory ? build->directory : build->name;
	size_t n = 0;

	while (b->words[n])
		n++;
	char **words = xcalloc(n + 1, sizeof(*words));
	for (size_t i = 0; i < n; i++) {
		words[i] = xstrdup("");
		for (const char *at = b->words[i]; *at;) {
			const char *braces = strstr(at, "{}");
			int length = braces ? (int)(braces - at) : (int)strlen(at);
			xappend(&words[i], "", "%.*s%s", length, at, braces ? in_place : "");
			at += length + (braces ? 2 : 0);
		}
	}
	return words;
}

/* Returns false if the build failed; `fault` then says why. */
static bool cmd_bisect_launch(struct bisect *b, char *const *words, const char *what)
{
	struct launch_result result;
	int rc = launch_run(words, &result);

	if (rc == 0 && !result.exit_code)
		return true;
	free(b->fault);
	b->fault = rc < 0 ? xasprintf("%s: %s", what, strerror(-rc))
			  : program_fault(what, result.exit_code, b->output);
	return false;
}

/* A commit is checked out and built in a work tree of its own. */
static bool make_commit(struct bisect *b, struct build *build)
{
	char *directory = xasprintf("%s/%s", b->directory, build->name);
	char *const add[] = {(char *)"git", (char *)"worktree", (char *)"add", (char *)"--detach",
		directory, build->name, NULL};
	char *const make[] = {(char *)"sh", (char *)"-c", (char *)"cd \"$0\" && eval \"$1\"",
		directory, (char *)b->arguments.build, NULL};

	build->directory = directory;
	return cmd_bisect_launch(b, add, "git worktree add") &&
	       cmd_bisect_launch(b, make, b->arguments.build);
}

static bool run_build(struct bisect *b, struct build *build)
{
	struct history_run entry;

	if (b->arguments.commits && !build->directory && !make_commit(b, build))
		return false;
	char **words = cmd_bisect_command_of(b, build);
	SCOPED char *recording = xasprintf("%s/run.pftrace", b->directory);
	SCOPED char **recorder = program_recorder(words, recording);
	SCOPED char *line = program_line(words);
	char *fault = NULL;
	bool good = cmd_bisect_launch(b, recorder, line) &&
		    program_recorded(&entry, recording, false, b->output, &fault);

	if (fault) {
		free(b->fault);
		b->fault = fault;
	}
	if (good)
		xpush(&build->runs, entry);
	unlink(recording);
	run_list_free(words);
	return good && !program_interrupted;
}

/* Comparing two builds. */

struct pair {
	struct build *a, *b;
	size_t from; /* the first run of A that was made in turns with B's */
	struct compare_names names;
	struct compare_series *series;
	size_t count;
	struct compare *compare;
};

static void pair_fini(struct pair *p)
{
	compare_destroy(p->compare);
	for (size_t i = 0; i < p->count; i++)
		compare_series_fini(&p->series[i]);
	free(p->series);
	compare_names_fini(&p->names);
	p->compare = NULL;
	p->series = NULL;
	p->count = 0;
}

static void add_series(struct pair *p, const struct history_run *run)
{
	xcheck(history_parts_series(&p->series[p->count++], &p->names, run, SUMMARY_BY_BRICK));
}

static void compare_pair(struct pair *p, double threshold)
{
	size_t in_a = p->a->runs.count - p->from, in_b = p->b->runs.count;

	pair_fini(p);
	p->series = xcalloc(in_a + in_b, sizeof(*p->series));
	for (size_t i = 0; i < in_a; i++)
		add_series(p, &p->a->runs.items[p->from + i]);
	for (size_t i = 0; i < in_b; i++)
		add_series(p, &p->b->runs.items[i]);
	/* both builds took turns, so that others disturbed both */
	const struct compare_rule rule = {.threshold = threshold, .even_disturbed = true};
	xcheck(compare_create(&p->compare, p->series, in_a, in_b, &p->names, &rule));
}

/* Runs both builds equally often, A B B A. */
static bool run_pair(struct bisect *b, struct pair *p, size_t runs)
{
	while (p->b->runs.count < runs) {
		bool b_first = p->b->runs.count % 2;
		if (!run_build(b, b_first ? p->b : p->a) || !run_build(b, b_first ? p->a : p->b))
			return false;
	}
	return true;
}

static const struct compare_row *judged_row(const struct bisect *b, const struct compare *c)
{
	for (size_t i = 0; i < c->row_count; i++) {
		const struct compare_row *row = &c->rows[i];
		bool is_it = b->brick ? row->name && row->kind == COMPARE_PART &&
						!strcmp(row->name, b->brick)
				      : !row->name && row->measure == COMPARE_TIME;
		if (row->phase == b->phase && is_it)
			return row;
	}
	return NULL;
}

/* The brick that adds most to the difference between the ends, or most among the slower ones. */
static const struct compare_row *slowest_of(const struct compare *c, bool told)
{
	const struct compare_row *most = NULL;

	for (size_t i = 0; i < c->row_count; i++) {
		const struct compare_row *row = &c->rows[i];
		bool counts = row->name && row->kind == COMPARE_PART && row->points > 0 &&
			      (!told || row->difference.verdict == COMPARE_SLOWER);
		if (counts && (!most || row->points > most->points))
			most = row;
	}
	return most;
}

static const struct compare_row *slower_phase(const struct compare *c)
{
	for (int phase = STEP_PHASES - 1; phase >= 0; phase--) {
		const struct compare_row *row = compare_find(c, phase, COMPARE_TIME);
		if (row && row->difference.verdict == COMPARE_SLOWER)
			return row;
	}
	return NULL;
}

/* True if the difference between the ends is known. last: there will be no more runs. */
static bool find_difference(struct bisect *b, const struct compare *c, bool last)
{
	const struct compare_row *row = slowest_of(c, last);

	if (!row || row->difference.verdict != COMPARE_SLOWER)
		row = last ? slower_phase(c) : NULL;
	if (!row)
		return false;
	b->phase = row->phase;
	b->brick = row->name ? xstrdup(row->name) : NULL;
	return true;
}

static void cmd_bisect_note(struct bisect *b, struct bisect_step step)
{
	SCOPED char *said = difference_text(&step.difference);

	if (!b->arguments.quiet)
		fprintf(stderr, "bisect: %s: %s%s%s\n", step.build,
			step.fault    ? step.fault
			: step.is_bad ? "bad, "
				      : "good, ",
			step.fault ? "" : said, step.is_doubtful ? " (doubtful)" : "");
	xpush(&b->steps, step);
}

/*
 * Measures both ends. False: one of them failed. *found: the last is slower than the first.
 * *least: by so much of the first, or more.
 */
static bool compare_ends(struct bisect *b, double *least, bool *found)
{
	struct build *last = &b->builds.items[b->builds.count - 1];
	SCOPED_BY(pair_fini) struct pair p = {.a = &b->builds.items[0], .b = last};
	bool is_last = false;

	*found = false;
	for (size_t runs = RUNS_MIN; !*found && !is_last; runs *= 2) {
		is_last = runs >= b->arguments.runs;
		if (!run_pair(b, &p, is_last ? b->arguments.runs : runs))
			return false;
		compare_pair(&p, b->arguments.threshold);
		*found = find_difference(b, p.compare, is_last);
	}
	struct bisect_step step = {.build = last->name, .runs = last->runs.count, .is_bad = *found};
	if (!*found) /* what stays is a token of some phase */
		for (b->phase = STEP_PHASES - 1; b->phase && !judged_row(b, p.compare);)
			b->phase--;
	const struct compare_row *row = judged_row(b, p.compare);
	if (row) {
		step.difference = row->difference;
		step.is_doubtful = !*found && bisection_is_doubtful(&step.difference);
	}
	*least = step.difference.low > 0 ? step.difference.low : step.difference.effect;
	cmd_bisect_note(b, step);
	return true;
}

/* Judges a build; a build that fails is passed over. */
static void cmd_bisect_judge(
	struct bisect *b, struct bisection *search, size_t at, double threshold)
{
	struct build *build = &b->builds.items[at], *first = &b->builds.items[0];
	SCOPED_BY(pair_fini) struct pair p = {.a = first, .b = build, .from = first->runs.count};
	struct bisect_step step = {.build = build->name,
		.difference = {.threshold = threshold, .effect = NAN, .low = NAN, .high = NAN}};
	const struct compare_row *row = NULL;
	bool is_last = false;

	for (size_t runs = RUNS_MIN; !is_last; runs *= 2) {
		is_last = runs >= b->arguments.runs;
		if (!run_pair(b, &p, is_last ? b->arguments.runs : runs))
			break;
		compare_pair(&p, threshold);
		row = judged_row(b, p.compare);
		step.difference = row ? row->difference : step.difference;
		is_last |= !bisection_is_doubtful(&step.difference);
	}
	step.runs = build->runs.count;
	if (!row || isnan(step.difference.effect)) {
		b->is_skipped[at] = true;
		step.fault = b->fault ? b->fault : xstrdup("has nothing of that name");
		b->fault = NULL;
	} else {
		step.is_doubtful = bisection_is_doubtful(&step.difference);
		step.is_bad = step.difference.effect > threshold;
		bisection_note(search, at, step.is_bad);
	}
	cmd_bisect_note(b, step);
}

/* The answer. */

static void cmd_bisect_show(struct bisect *b, const struct bisection *search, bool found)
{
	struct build *builds = b->builds.items;
	struct bisect_view view = {.first = builds[0].name,
		.last = builds[b->builds.count - 1].name,
		.builds = b->builds.count,
		.phase = step_phase_name(b->phase),
		.brick = b->brick,
		.steps = b->steps.items,
		.step_count = b->steps.count};
	SCOPED_BY(pair_fini) struct pair p = {.a = &builds[0], .b = &builds[search->bad]};
	SCOPED_BY(diff_origins_fini) struct diff_origins origins = {0};
	struct diff_view diff = {.origins = &origins, .top = 15};

	if (found) {
		struct diff_origin *list =
			xcalloc(p.a->runs.count + p.b->runs.count, sizeof(*list));
		for (size_t i = 0; i < p.a->runs.count; i++)
			diff_origin_of_history(&list[i], &p.a->runs.items[i]);
		for (size_t i = 0; i < p.b->runs.count; i++)
			diff_origin_of_history(&list[p.a->runs.count + i], &p.b->runs.items[i]);
		diff_origins_init(&origins, list, p.a->runs.count, p.b->runs.count);
		compare_pair(&p, b->arguments.threshold);
		diff.compare = p.compare;
		view.diff = &diff;
		view.bad = builds[search->bad].name;
		view.good = builds[search->good].name;
		view.between = search->bad - search->good - 1;
	}
	(b->arguments.json ? bisect_json : bisect_text)(&view, stdout);
}

static int search_builds(struct bisect *b)
{
	struct bisection search = {0, b->builds.count - 1, b->is_skipped};
	bool found;
	double least;

	if (!compare_ends(b, &least, &found)) {
		if (!program_interrupted)
			warn("bisect: %s", b->fault);
		return EXIT_NOT_KNOWN;
	}
	for (long at;
		found && !program_interrupted && (at = bisection_next(&search)) != BISECTION_END;)
		cmd_bisect_judge(b, &search, (size_t)at, expm1(log1p(least) / 2));
	if (program_interrupted)
		return EXIT_NOT_KNOWN;
	cmd_bisect_show(b, &search, found);
	return found ? CLI_DONE : CLI_GATE;
}

/* The builds. */

/* "a,b,c", or a file with one a line. */
static void read_builds(struct bisect *b, const char *list, const char *between)
{
	while (*list) {
		size_t length = strcspn(list, between);
		if (length)
			xpush(&b->builds,
				(struct build){.name = xasprintf("%.*s", (int)length, list)});
		list += length + (list[length] != '\0');
	}
}

static void cmd_bisect_read_file(struct bisect *b, const char *path)
{
	SCOPED char *text = NULL;
	size_t bytes;
	int rc = file_read(&text, &bytes, path, FILE_BYTES_MAX);

	if (rc < 0)
		die(CLI_INPUT, "%s: %s", path, strerror(-rc));
	read_builds(b, text, "\n");
}

/* The commit in front of the range is the first. */
static void read_commits(struct bisect *b, const char *range)
{
	const char *dots = strstr(range, "..");
	SCOPED char *first = xasprintf("%.*s", dots ? (int)(dots - range) : 0, range);
	char *const parse[] = {(char *)"git", (char *)"rev-parse", (char *)"--short", first, NULL};
	char *const list[] = {(char *)"git", (char *)"rev-list", (char *)"--reverse",
		(char *)"--first-parent", (char *)"--abbrev-commit", (char *)range, NULL};

	if (!*first)
		die_usage("bisect", "--commits %s: must be GOOD..BAD", range);
	for (int i = 0; i < 2; i++) {
		if (!cmd_bisect_launch(b, i ? list : parse, "git"))
			die(CLI_INPUT, "bisect: %s", b->fault);
		cmd_bisect_read_file(b, b->output);
	}
}

/* The command. */

#define OF(member) .at = offsetof(struct bisect_arguments, member)

static const struct cli_option cmd_bisect_option_table[] = {
	{"builds", "LIST",
		"what stands for {} in the command, oldest first: with commas between, or @FILE "
		"with one a line",
		option_text, OF(builds)},
	{"commits", "GOOD..BAD",
		"commits of git, each in a work tree of its own, whose folder stands for {}",
		option_text, OF(commits)},
	{"build", "COMMAND",
		"with --commits: the shell command that builds a commit, in its folder",
		option_text, OF(build)},
	{"runs", "N", "at most so many runs of each build (default: 16)", option_number, OF(runs),
		.low = RUNS_MIN, .high = 1000},
	{"threshold", "PERCENT", "smaller differences do not matter (default: 1)", option_percent,
		OF(threshold)},
	{"json", NULL, "as JSON (schema brick/bisect/1)", option_flag, OF(json)},
	{"quiet", NULL, "no progress", option_flag, OF(quiet), .letter = 'q'},
	OPTION_HELP,
};

static int run_bisect(int argc, char **argv)
{
	struct bisect b = {.arguments = {.runs = 16, .threshold = 0.01}};

	options_parse(&command_bisect, &b.arguments, argc, argv);
	b.words = argv + optind;
	const struct bisect_arguments *a = &b.arguments;
	bool has_place = false;

	for (char **word = b.words; *word; word++)
		has_place |= strstr(*word, "{}") != NULL;
	if (!a->builds == !a->commits)
		die_usage("bisect", "either --builds or --commits, please");
	if (!a->build != !a->commits)
		die_usage("bisect", "--commits and --build belong together");
	if (!*b.words || !has_place)
		die_usage("bisect", "which command? -- {}/engine ..., with {} for the build");
	program_runs_begin("bisect", &b.directory, &b.output);
	if (b.arguments.commits)
		read_commits(&b, b.arguments.commits);
	else if (*b.arguments.builds == '@')
		cmd_bisect_read_file(&b, b.arguments.builds + 1);
	else
		read_builds(&b, b.arguments.builds, ",");
	int rc = CLI_USAGE;
	if (b.builds.count < 2) {
		warn("bisect: two builds, please, or more: the first is good, the last is bad");
	} else {
		b.is_skipped = xcalloc(b.builds.count, sizeof(*b.is_skipped));
		rc = search_builds(&b);
	}
	for (size_t i = 0; i < b.builds.count; i++) {
		struct build *build = &b.builds.items[i];
		char *const remove[] = {(char *)"git", (char *)"worktree", (char *)"remove",
			(char *)"--force", build->directory, NULL};
		if (build->directory)
			cmd_bisect_launch(&b, remove, "git worktree remove");
		for (size_t k = 0; k < build->runs.count; k++)
			history_run_fini(&build->runs.items[k]);
		array_fini(&build->runs);
		free(build->directory);
		free(build->name);
	}
	program_runs_end(b.directory, b.output);
	for (size_t i = 0; i < b.steps.count; i++)
		free((char *)b.steps.items[i].fault);
	array_fini(&b.builds);
	array_fini(&b.steps);
	free(b.is_skipped);
	free(b.fault);
	free(b.brick);
	return rc;
}

const struct cli_command command_bisect = {
	.name = "bisect",
	.summary = "find the build or commit that made a program slower, and the brick",
	.run = run_bisect,
	.flags = CLI_RUNS,
	.usage = "--builds LIST -- CMD...\n--commits GOOD..BAD --build COMMAND -- CMD...",
	.about = "Record the first and the last of a list of builds in turns, until it is known "
		 "which brick got slower. Then halve the list: a build is bad if that brick takes "
		 "more than half of the difference longer than in the first build. Builds that "
		 "fail are passed over. Exit code 1 when nothing got slower, 125 when the first or "
		 "the last build failed.",
	.options = cmd_bisect_option_table,
};
