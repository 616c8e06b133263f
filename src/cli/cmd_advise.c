/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick advise`: records a program with some of its settings, predicts all combinations from the
 * times of bricks, runs the best ones, and says which to use. A setting is a value in braces in the
 * pattern of the command: named by --param, or found among options that engines share, or, for
 * given recordings, where their commands differ. Setting 0 of the matrix is the user's own command.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/advise/advise.h"
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/number.h"
#include "base/order.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/history_runs.h"
#include "cli/input.h"
#include "cli/matrix.h"
#include "cli/options.h"
#include "cli/program_runs.h"
#include "record/runner/machine_state.h"
#include "record/runner/turn_launch.h"
#include "record/runner/turns.h"
#include "ui/text/advise_view.h"

struct arguments {
	struct matrix matrix;
	const char *keep, *db;
	unsigned long runs;
	int goal;
	bool json, quiet, no_history;
};

struct advising {
	struct arguments arguments;
	char **words; /* the pattern; NULL-terminated */
	struct advise *model;
	size_t settings, measured, runs, repeated, disturbed;
	bool *is_failed; /* by setting */
	char *directory, *output, *faults;
	char *batch;	       /* of its runs in the history */
	uint32_t cpus, layers; /* from the recording of the base; 0: not known */
	uint64_t prompt;       /* the longest prefill of the base, in tokens */
	uint64_t begin_ns;
};

enum { SETTINGS_MAX = 10000, CHECKED = 3, TRIES = 3, EXIT_FAILED = 125, EXIT_SIGNAL = 128 };

/* Axes. */

/* An index for each parameter; the caller frees. */
static size_t *cmd_advise_place_of(const struct matrix *matrix, size_t setting)
{
	size_t *at = xcalloc(matrix->params.count + 1, sizeof(*at));

	for (size_t i = 0; i < matrix->params.count; i++)
		at[i] = matrix_index(matrix, setting, i);
	return at;
}

/* All values of a setting as numbers; NULL: a value is no number. The caller frees. */
static double *cmd_advise_numbers_of(const struct matrix_param *param)
{
	double *numbers = xcalloc(param->values.count + 1, sizeof(*numbers));

	for (size_t i = 0; i < param->values.count; i++)
		if (number_double(param->values.items[i], -1e9, 1e9, &numbers[i]) < 0) {
			free(numbers);
			return NULL;
		}
	return numbers;
}

static struct advise_axis *axes_of(const struct matrix *matrix)
{
	struct advise_axis *axes = xcalloc(matrix->params.count + 1, sizeof(*axes));

	for (size_t i = 0; i < matrix->params.count; i++) {
		const struct matrix_param *param = &matrix->params.items[i];
		axes[i] = (struct advise_axis){
			param->name, param->values.count, cmd_advise_numbers_of(param)};
	}
	return axes;
}

static void axes_free(struct advise_axis *axes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((void *)axes[i].numbers);
	free(axes);
}

static void make_model(struct advising *a, size_t base)
{
	const struct matrix *matrix = &a->arguments.matrix;
	SCOPED size_t *at = cmd_advise_place_of(matrix, base);
	struct advise_axis *axes = axes_of(matrix);

	a->settings = matrix_size(matrix);
	if (a->settings > SETTINGS_MAX)
		die_usage("advise", "%zu settings: at most %d", a->settings, SETTINGS_MAX);
	a->is_failed = xcalloc(a->settings, sizeof(*a->is_failed));
	xcheck(advise_create(&a->model, axes, matrix->params.count, at));
	axes_free(axes, matrix->params.count);
}

/* Options that engines share. */

static void cmd_advise_add_threads(const struct advising *a, struct matrix_param *param)
{
	for (uint32_t n = 1; n < a->cpus; n *= 2)
		matrix_value(param, "%u", n);
	if (a->cpus)
		matrix_value(param, "%u", a->cpus);
}

/* A batch that is longer than the prompt changes nothing. */
static void add_ubatch(const struct advising *a, struct matrix_param *param)
{
	for (uint64_t n = 32; n <= 512 && (n == 32 || n / 2 < a->prompt); n *= 2)
		matrix_value(param, "%llu", (unsigned long long)n);
}

static void add_layers(const struct advising *a, struct matrix_param *param)
{
	matrix_value(param, "0");
	matrix_value(param, "%u", (a->layers + 1) / 2);
	matrix_value(param, "%u", a->layers + 1);
}

static void add_types(const struct advising *a, struct matrix_param *param)
{
	matrix_value(param, "f16");
	matrix_value(param, "q8_0");
}

static void add_flash(const struct advising *a, struct matrix_param *param)
{
	bool is_number = strspn(param->values.items[0], "01") == 1;

	matrix_value(param, is_number ? "1" : "on");
	matrix_value(param, is_number ? "0" : "off");
}

static const struct knob {
	const char *name, *spellings[4];
	void (*add)(const struct advising *a, struct matrix_param *param);
} knobs[] = {
	{"threads", {"--threads", "-t"}, cmd_advise_add_threads},
	{"ubatch", {"--ubatch-size", "--ubatch", "-ub"}, add_ubatch},
	{"gpu-layers", {"--n-gpu-layers", "--gpu-layers", "-ngl"}, add_layers},
	{"flash", {"--flash-attn", "--flash", "-fa"}, add_flash},
	{"cache-type", {"--cache-type", "-ctkv"}, add_types},
	{"cache-type-k", {"--cache-type-k", "-ctk"}, add_types},
	{"cache-type-v", {"--cache-type-v", "-ctv"}, add_types},
};

/* The begin of an option's value, in its word or in the next one; NULL: it is another option. */
static char **cmd_advise_value_of(const struct knob *knob, char **word, size_t *skip)
{
	for (size_t i = 0; i < 4 && knob->spellings[i]; i++) {
		size_t n = strlen(knob->spellings[i]);
		*skip = 0;
		if (!strcmp(*word, knob->spellings[i]) && word[1])
			return word + 1;
		*skip = n + 1;
		if (!strncmp(*word, knob->spellings[i], n) && (*word)[n] == '=')
			return word;
	}
	return NULL;
}

/* Replaces the command's values by names in braces; these values come first in the matrix. */
static void find_knobs(struct advising *a)
{
	for (size_t k = 0; k < sizeof(knobs) / sizeof(knobs[0]); k++)
		for (char **word = a->words; *word; word++) {
			size_t skip;
			char **value = cmd_advise_value_of(&knobs[k], word, &skip);
			if (!value || strchr(*value, '{'))
				continue;
			struct matrix_param param = {.name = xstrdup(knobs[k].name)};
			matrix_value(&param, "%s", *value + skip);
			char *filled = xasprintf("%.*s{%s}", (int)skip, *value, param.name);
			free(*value);
			*value = filled;
			xpush(&a->arguments.matrix.params, param);
			break;
		}
}

/* Runs. */

/*
 * Runs the command, and repeats the run if other programs used the CPUs meanwhile: their effect on
 * a team of threads says nothing about the setting.
 */
static int launch_undisturbed(
	struct advising *a, char *const *argv, const char *recording, struct launch_result *result)
{
	struct machine_state before, after;
	struct machine_change change;

	for (int i = 1;; i++) {
		unlink(recording); /* left by the previous run */
		machine_state_read(&before);
		int rc = launch_run(argv, result);
		machine_state_read(&after);
		if (rc < 0 || result->exit_code)
			return rc;
		machine_state_between(
			&change, &before, &after, result->user_ns + result->system_ns);
		if (!machine_change_disturbs(&change))
			return 0;
		if (i == TRIES) {
			a->disturbed++;
			return 0;
		}
		a->repeated++;
	}
}

/*
 * Runs a setting and fills in *entry. Returns NULL, or the reason of a failure; the caller frees.
 */
static char *cmd_advise_record(
	struct advising *a, char *const *command, const char *recording, struct history_run *entry)
{
	SCOPED char **recorder = program_recorder(command, recording);
	SCOPED char *line = program_line(command);
	struct launch_result result;
	char *fault = NULL;

	int rc = launch_undisturbed(a, recorder, recording, &result);
	if (rc < 0)
		return xasprintf("%s: %s", line, strerror(-rc));
	if (result.exit_code)
		return program_fault(line, result.exit_code, a->output);
	program_recorded(entry, recording, a->arguments.keep, a->output, &fault);
	return fault;
}

/* Prints what a run of a setting gave, as soon as the base was run, too. */
static void cmd_advise_tell(const struct advising *a, size_t setting)
{
	struct advise_view view = {.goal = (enum advise_phase)a->arguments.goal};
	SCOPED size_t *at = cmd_advise_place_of(&a->arguments.matrix, setting);
	SCOPED char *text = matrix_text(&a->arguments.matrix, setting);
	struct advise_answer answer;

	xcheck(advise_ask(a->model, at, &answer));
	for (int phase = 0; phase < ADVISE_PHASES; phase++)
		view.tokens[phase] = advise_tokens(a->model, (enum advise_phase)phase);
	SCOPED char *said = advise_said(&view, &answer);
	fprintf(stderr, "%sadvise: run %zu, %s%s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
		a->runs, text, said ? ": " : "", said ? said : "");
}

/* Runs each of the settings the given number of times, in turns. */
static void run_settings(struct advising *a, const size_t *settings, size_t count)
{
	struct plan plan;

	plan_init(&plan, count, a->runs);
	for (size_t i = 0; i < count * a->arguments.runs && !program_interrupted; i++) {
		size_t setting = settings[plan_next(&plan)];
		if (a->is_failed[setting])
			continue;
		const struct matrix *matrix = &a->arguments.matrix;
		const char *place = a->arguments.keep ? a->arguments.keep : a->directory;
		SCOPED char *recording = xasprintf("%s/%zu-%zu.pftrace", place, setting, a->runs);
		char **command = matrix_command(matrix, setting, a->words);
		SCOPED size_t *at = cmd_advise_place_of(matrix, setting);
		struct history_run entry;

		if (!a->arguments.quiet && isatty(STDERR_FILENO))
			fprintf(stderr, "\r\033[Kadvise: run %zu", a->runs + 1);
		SCOPED char *fault = cmd_advise_record(a, command, recording, &entry);
		a->runs++;
		if (program_interrupted) {
			if (!fault)
				history_run_fini(&entry);
		} else if (fault) {
			SCOPED char *line = program_line(command);
			/* the fault may begin with the command */
			SCOPED char *text = matrix_text(matrix, setting);
			size_t skip = strncmp(fault, line, strlen(line))
					      ? 0
					      : strlen(line) + strlen(": ");

			a->is_failed[setting] = true;
			xappend(&a->faults, "; ", "%s (%.*s)", text,
				(int)strcspn(fault + skip, ";\n"), fault + skip);
		} else {
			SCOPED char *batch = xasprintf("%s/%zu", a->batch, setting);

			history_entry_text(&entry.batch, batch);
			if (!a->arguments.no_history)
				history_runs_keep(a->arguments.db, &entry);
			xcheck(advise_add(a->model, at, &entry));
			history_run_fini(&entry);
			if (!a->arguments.quiet)
				cmd_advise_tell(a, setting);
		}
		if (!a->arguments.keep)
			unlink(recording);
		run_list_free(command);
	}
	if (!a->arguments.quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* Finds the base and, for each axis, the values that predict others; returns their number. */
static size_t cmd_advise_star(const struct advising *a, size_t *settings)
{
	const struct matrix *matrix = &a->arguments.matrix;
	struct advise_axis *axes = axes_of(matrix);
	size_t count = 0;

	settings[count++] = 0;
	for (size_t i = 0, step = a->settings; i < matrix->params.count; i++) {
		bool *is_measured = xcalloc(axes[i].count, sizeof(*is_measured));
		step /= axes[i].count;
		advise_plan(&axes[i], 0, is_measured);
		for (size_t v = 1; v < axes[i].count; v++)
			if (is_measured[v])
				settings[count++] = v * step;
		free(is_measured);
	}
	axes_free(axes, matrix->params.count);
	if (count > PLAN_KINDS_MAX)
		die_usage("advise", "%zu settings to measure: at most %d", count, PLAN_KINDS_MAX);
	return count;
}

/* A first run warms up, and tells which values there are to try. False: it failed. */
static bool look_at_base(struct advising *a)
{
	SCOPED char *recording = xasprintf("%s/base.pftrace", a->directory);
	char **command = matrix_command(&a->arguments.matrix, 0, a->words);
	struct history_run entry;
	SCOPED char *fault = cmd_advise_record(a, command, recording, &entry);

	run_list_free(command);
	if (fault) {
		unlink(recording);
		if (!program_interrupted)
			warn("advise: %s", fault);
		return false;
	}
	history_run_fini(&entry);
	a->repeated = a->disturbed = 0; /* the warm-up run does not count */
	SCOPED_TO(run_destroy) struct run *run = input_load(recording);
	unlink(recording);
	a->cpus = run_usable_cpus(run);
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].layer >= (int32_t)a->layers)
			a->layers = (uint32_t)run->sites[i].layer + 1;
	for (size_t i = 0; i < run->step_count; i++)
		if (run->steps[i].phase == BRICK_PHASE_PREFILL && run->steps[i].tokens > a->prompt)
			a->prompt = run->steps[i].tokens;
	return true;
}

/* The answer. */

static double goal_ns(const struct advising *a, const struct advise_row *row)
{
	return row->answer.times[a->arguments.goal].ns;
}

/* Asks the model for each setting's time. is_first: the answer is also kept as the prediction. */
static void cmd_advise_ask(struct advising *a, struct advise_row *rows, bool is_first)
{
	for (size_t i = 0; i < a->settings; i++) {
		SCOPED size_t *at = cmd_advise_place_of(&a->arguments.matrix, i);
		xcheck(advise_ask(a->model, at, &rows[i].answer));
		if (is_first)
			rows[i].predicted = rows[i].answer;
		if (a->is_failed[i])
			rows[i].answer.times[a->arguments.goal].ns = NAN;
	}
}

static size_t best_of(const struct advising *a, const struct advise_row *rows, const bool *taken,
	bool is_measured)
{
	double least = INFINITY;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < a->settings; i++) {
		double ns = goal_ns(a, &rows[i]);
		if (ns < least && !(taken && taken[i]) && (rows[i].answer.runs || !is_measured)) {
			least = ns;
			best = i;
		}
	}
	return best;
}

/* Runs the settings that may be the best by their intervals, and the user's own setting. */
static void cmd_advise_check(struct advising *a, const struct advise_row *rows)
{
	SCOPED bool *taken = xcalloc(a->settings, sizeof(*taken));
	size_t settings[CHECKED + 1] = {0}, count = 1;
	double least = INFINITY;

	taken[0] = true;
	for (size_t i = 0; i < CHECKED; i++) {
		size_t next = best_of(a, rows, taken, false);
		if (next == SIZE_MAX || rows[next].answer.times[a->arguments.goal].low > least)
			break;
		least = fmin(least, rows[next].answer.times[a->arguments.goal].high);
		taken[next] = true;
		settings[count++] = next;
	}
	run_settings(a, settings, count);
}

struct ranked {
	double ns;
	size_t setting;
};

COMPARATOR(cmd_advise_by_time, struct ranked,
	ORDER(x->ns, y->ns) ? ORDER(x->ns, y->ns) : ORDER(x->setting, y->setting))

static void cmd_advise_print(
	struct advising *a, struct advise_row *rows, size_t base, bool is_checked)
{
	SCOPED struct ranked *ranked = xcalloc(a->settings, sizeof(*ranked));
	SCOPED struct advise_row *sorted = xcalloc(a->settings, sizeof(*sorted));
	const struct matrix *matrix = &a->arguments.matrix;
	size_t axes = matrix->params.count;
	SCOPED const char **names = xcalloc(axes, sizeof(*names));
	SCOPED char *pattern = program_line(a->words);
	size_t best = best_of(a, rows, NULL, is_checked);

	if (best == SIZE_MAX)
		die(CLI_INPUT, "advise: no %s in these recordings",
			advise_goal_name((enum advise_phase)a->arguments.goal));
	for (size_t i = 0; i < axes; i++)
		names[i] = matrix->params.items[i].name;
	struct advise_view view = {.pattern = pattern,
		.axes = names,
		.axis_count = axes,
		.rows = sorted,
		.row_count = a->settings,
		.is_checked = is_checked,
		.goal = (enum advise_phase)a->arguments.goal,
		.measured = a->measured,
		.runs = a->runs,
		.repeated = a->repeated,
		.disturbed = a->disturbed,
		.elapsed_s = (double)(monotonic_ns() - a->begin_ns) / 1e9,
		.faults = a->faults,
		.is_interrupted = program_interrupted != 0};
	for (size_t i = 0; i < a->settings; i++) {
		double ns = goal_ns(a, &rows[i]);
		ranked[i] = (struct ranked){isnan(ns) ? INFINITY : ns, i};
	}
	qsort(ranked, a->settings, sizeof(*ranked), cmd_advise_by_time);
	for (size_t i = 0; i < a->settings; i++) {
		sorted[i] = rows[ranked[i].setting];
		sorted[i].setting = matrix_text(matrix, ranked[i].setting);
		sorted[i].values = xcalloc(axes, sizeof(*sorted[i].values));
		for (size_t k = 0; k < axes; k++)
			sorted[i].values[k] =
				matrix->params.items[k]
					.values.items[matrix_index(matrix, ranked[i].setting, k)];
		view.base = ranked[i].setting == base ? i : view.base;
		view.best = ranked[i].setting == best ? i : view.best;
	}
	for (int phase = 0; phase < ADVISE_PHASES; phase++)
		view.tokens[phase] = advise_tokens(a->model, (enum advise_phase)phase);
	(a->arguments.json ? advise_json : advise_text)(&view, stdout);
	for (size_t i = 0; i < a->settings; i++) {
		free(sorted[i].setting);
		free(sorted[i].values);
	}
}

static int advise_command(struct advising *a, char **words)
{
	const char *unused = matrix_unused(&a->arguments.matrix, words);
	SCOPED size_t *settings = NULL;
	SCOPED struct advise_row *rows = NULL;

	if (unused)
		die_usage("advise", "--param %s: no {%s} in the command", unused, unused);
	a->words = matrix_command(&(struct matrix){0}, 0, words);
	find_knobs(a);
	if (!a->arguments.matrix.params.count)
		die_usage("advise", "the command has no option to try, such as -t N or -ub N; "
				    "--param NAME=VALUES stands for {NAME}");
	program_runs_begin("advise", &a->directory, &a->output);
	program_directory(a->arguments.keep);
	if (!look_at_base(a))
		return program_interrupted ? EXIT_SIGNAL + program_interrupted : EXIT_FAILED;
	/* other values than the command's, by the base's recording */
	for (size_t i = 0; i < a->arguments.matrix.params.count; i++) {
		struct matrix_param *param = &a->arguments.matrix.params.items[i];
		for (size_t k = 0; k < sizeof(knobs) / sizeof(knobs[0]); k++)
			if (!strcmp(knobs[k].name, param->name) && param->values.count == 1)
				knobs[k].add(a, param);
	}
	make_model(a, 0);
	settings = xcalloc(a->settings + PLAN_KINDS_MAX, sizeof(*settings));
	a->measured = cmd_advise_star(a, settings);
	run_settings(a, settings, a->measured);
	rows = xcalloc(a->settings, sizeof(*rows));
	cmd_advise_ask(a, rows, true);
	if (program_interrupted) {
		a->measured = 0;
		for (size_t i = 0; i < a->settings; i++)
			a->measured += rows[i].answer.runs > 0;
		if (goal_ns(a, &rows[0]) > 0)
			cmd_advise_print(a, rows, 0, true);
		return EXIT_SIGNAL + program_interrupted;
	}
	if (a->is_failed[0] || !(goal_ns(a, &rows[0]) > 0)) {
		warn("advise: %s", a->faults ? a->faults : "nothing of that is in its recordings");
		return EXIT_FAILED;
	}
	cmd_advise_check(a, rows);
	cmd_advise_ask(a, rows, false);
	cmd_advise_print(a, rows, 0, true);
	return program_interrupted ? EXIT_SIGNAL + program_interrupted : CLI_DONE;
}

/* Runs from recordings. */

struct kept {
	char **words;
	struct history_run entry;
	size_t setting;
};

static size_t count_words(char *const *words)
{
	size_t n = 0;

	while (words && words[n])
		n++;
	return n;
}

/* A name for a word: "threads" of "--threads 2" or "--threads=2"; else "word 3". */
static char *name_of_word(char *const *words, size_t i)
{
	const char *before = i ? words[i - 1] : "";
	size_t n = strcspn(words[i], "=");

	if (words[i][0] == '-' && words[i][n])
		return xasprintf(
			"%.*s", (int)(n - strspn(words[i], "-")), words[i] + strspn(words[i], "-"));
	return before[0] == '-' ? xstrdup(before + strspn(before, "-")) : xasprintf("word %zu", i);
}

/* A parameter for each word in which commands differ. */
static void find_axes(struct advising *a, const struct kept *kept, size_t count)
{
	char **first = kept[0].words;

	a->words = matrix_command(&(struct matrix){0}, 0, first);
	for (size_t w = 0; first[w]; w++) {
		struct matrix_param param = {0};
		for (size_t i = 0; i < count; i++)
			if (strcmp(kept[i].words[w], first[w]))
				param.name = name_of_word(first, w);
		if (!param.name)
			continue;
		for (size_t i = 0; i < count; i++)
			matrix_value(&param, "%s", kept[i].words[w]);
		free(a->words[w]);
		a->words[w] = xasprintf("{%s}", param.name);
		xpush(&a->arguments.matrix.params, param);
	}
	if (!a->arguments.matrix.params.count)
		die(CLI_INPUT, "advise: %s: there is nothing to choose",
			count > 1 ? "the commands of these recordings do not differ"
				  : "one recording has one setting");
}

static size_t setting_of(const struct matrix *matrix, const struct kept *kept, char *const *pattern)
{
	size_t setting = 0, param = 0;

	for (size_t w = 0; pattern[w]; w++) {
		if (param == matrix->params.count || pattern[w][0] != '{' ||
			strncmp(pattern[w] + 1, matrix->params.items[param].name,
				strlen(matrix->params.items[param].name)))
			continue;
		const struct matrix_param *own = &matrix->params.items[param++];
		size_t value = 0;
		while (strcmp(own->values.items[value], kept->words[w]))
			value++;
		setting = setting * own->values.count + value;
	}
	return setting;
}

/* The setting from which most others differ in one value only. */
static size_t cmd_advise_find_base(
	const struct matrix *matrix, const struct kept *kept, size_t count)
{
	size_t base = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		size_t near = 0;
		for (size_t k = 0; k < count; k++) {
			size_t differ = 0;
			for (size_t p = 0; p < matrix->params.count; p++)
				differ += matrix_index(matrix, kept[i].setting, p) !=
					  matrix_index(matrix, kept[k].setting, p);
			near += differ <= 1;
		}
		if (near > most) {
			most = near;
			base = kept[i].setting;
		}
	}
	return base;
}

static int advise_files(struct advising *a, char *const *paths, size_t count)
{
	SCOPED struct kept *kept = xcalloc(count, sizeof(*kept));
	struct matrix *matrix = &a->arguments.matrix;

	if (matrix->params.count)
		die_usage("advise", "--param is for a command: recordings say what they were run "
				    "with");
	for (size_t i = 0; i < count; i++) {
		SCOPED_TO(run_destroy) struct run *run = input_load_telling(paths[i]);
		if (!run->step_count)
			die(CLI_INPUT, "%s: has no steps: there are no tokens in it", paths[i]);
		history_entry_init(&kept[i].entry, run, NULL);
		kept[i].words = matrix_command(
			&(struct matrix){0}, 0, run->command ? run->command : (char *[]){NULL});
		if (count_words(kept[i].words) != count_words(kept[0].words))
			die(CLI_INPUT,
				"%s: its command has %zu words, and that of %s has %zu: settings "
				"are values in one place",
				paths[i], count_words(kept[i].words), paths[0],
				count_words(kept[0].words));
	}
	find_axes(a, kept, count);
	for (size_t i = 0; i < count; i++)
		kept[i].setting = setting_of(matrix, &kept[i], a->words);
	size_t base = cmd_advise_find_base(matrix, kept, count);
	make_model(a, base);
	for (size_t i = 0; i < count; i++) {
		SCOPED size_t *at = cmd_advise_place_of(matrix, kept[i].setting);
		xcheck(advise_add(a->model, at, &kept[i].entry));
		history_run_fini(&kept[i].entry);
		run_list_free(kept[i].words);
	}
	SCOPED struct advise_row *rows = xcalloc(a->settings, sizeof(*rows));
	cmd_advise_ask(a, rows, true);
	a->runs = count;
	for (size_t i = 0; i < a->settings; i++)
		a->measured += rows[i].answer.runs > 0;
	cmd_advise_print(a, rows, base, false);
	return CLI_DONE;
}

/* The command. */

static void words_goal(struct option_words *words)
{
	for (int goal = 0; goal < ADVISE_GOALS; goal++)
		words_add(words, advise_goal_name((enum advise_phase)goal));
}

#define OF(member) .at = offsetof(struct arguments, member)

static const struct cli_option cmd_advise_option_table[] = {
	{"param", "NAME=VALUES",
		"try each of VALUES (1,2,4) where the command has {NAME}; the first is what you "
		"have",
		option_param, OF(matrix)},
	{"for", "GOAL", "what should be fast: prefill, decode, mixed or all (default)",
		option_index, OF(goal), .words = words_goal},
	{"runs", "N", "runs of each setting that is run (default: 3)", option_number, OF(runs),
		.low = 1, .high = 1000},
	{"keep", "DIR", "keep the recordings there; made if it is missing", option_text, OF(keep)},
	{"no-history", NULL, "do not keep the runs in the history", option_flag, OF(no_history)},
	{"db", "WHERE", "the history (default: BRICK_DB)", option_text, OF(db)},
	{"json", NULL, "as JSON (schema brick/advise/1)", option_flag, OF(json)},
	{"quiet", NULL, "no progress", option_flag, OF(quiet), .letter = 'q'},
	OPTION_HELP,
};

static int run_advise(int argc, char **argv)
{
	struct advising a = {
		.arguments = {.runs = 3, .goal = ADVISE_ALL}, .begin_ns = monotonic_ns()};

	a.batch = xasprintf("advise-%llx-%x", (unsigned long long)time(NULL), (unsigned)getpid());
	options_parse(&command_advise, &a.arguments, argc, argv);
	if (optind == argc)
		die_usage("advise", "which command, or which recordings?");
	bool is_command = !strcmp(argv[optind - 1], "--");
	int code = is_command ? advise_command(&a, argv + optind)
			      : advise_files(&a, argv + optind, (size_t)(argc - optind));
	program_runs_end(a.directory, a.output);
	advise_destroy(a.model);
	matrix_fini(&a.arguments.matrix);
	run_list_free(a.words);
	free(a.is_failed);
	free(a.faults);
	free(a.batch);
	return code;
}

const struct cli_command command_advise = {
	.name = "advise",
	.summary = "find the settings with which an engine is fastest",
	.run = run_advise,
	.flags = CLI_RUNS,
	.usage = "[OPTIONS] -- CMD...\n[OPTIONS] FILE FILE...",
	.about = "Record a program with a few of its settings, predict all combinations of them, "
		 "run the best ones, and say which to use: threads, ubatch, flash attention, KV "
		 "type, layers on a GPU, as far as the command has these options, and what --param "
		 "names. It prints runs as they end; Ctrl-C ends it with an answer from the runs "
		 "that are "
		 "there. Given recordings, predict the combinations of their settings without "
		 "running anything.",
	.options = cmd_advise_option_table,
};
