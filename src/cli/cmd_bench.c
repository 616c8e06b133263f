/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick bench`: runs programs in turns, plain and recorded, until the answer is precise enough,
 * and says which is faster. Of two programs it gives the verdict that `brick diff` gives on the
 * same runs: at most 3 of 100 such answers see a difference where there is none. Among more, or
 * with parameters, it names the best, with intervals that hold for all pairs at once. Looking at
 * the runs while they come errs in one more of 100 answers. There is no verdict where others
 * disturbed most runs. A finished run is on the disk before the next
 * begins.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/accounts/row_groups.h"
#include "analysis/statistics/statistics.h"
#include "analysis/compare/compare.h"
#include "analysis/compare/history_parts.h"
#include "analysis/history/history_run.h"
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/number.h"
#include "base/user_path.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/history_runs.h"
#include "cli/matrix.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/program_runs.h"
#include "record/runner/machine_state.h"
#include "record/runner/turn_launch.h"
#include "record/runner/turns.h"
#include "trace/load.h"
#include "ui/text/bench_view.h"

struct bench_arguments {
	unsigned long runs, warm_up, seed;
	double time_s, precision, threshold; /* ratios; negative: not given */
	bool plain, recorded, floor, no_history, quiet, bisect, disturbed;
	const char *baseline, *label, *db, *value, *rate, *resume, *keep, *prepare, *output;
	struct matrix matrix;
	bench_form_fn form;
	int by, metric;
};

/* A command that is run again and again. */
struct bench_command {
	char **words; /* argv; NULL: the runs come from the history */
	char *line, *name, *prepare;
};

/* A run that has ended. */
struct bench_run {
	size_t side;
	bool is_recorded;
	double value; /* of a plain run: wall time, or the number that the program printed */
	struct history_run entry;
	struct launch_result used; /* all 0: not known; the run is from a journal or the history */
};

struct bench {
	struct bench_arguments arguments;
	ARRAY(struct bench_command) commands; /* the compared ones, then A again for the floor */
	size_t compared;		      /* the first so many commands are in the answer */
	char *pattern;			      /* with parameters in braces; NULL: no parameters */
	ARRAY(struct bench_run) runs;
	struct bench_work {
		size_t side;
		bool is_recorded;
	} work[PLAN_KINDS_MAX];
	size_t work_count;
	struct plan plan;
	char *batch, *directory, *output; /* output: the file for the programs' output */
	FILE *journal;
	char *journal_path;
	uint64_t begin_ns;
	struct bench_machine machine;
	bool all_kept; /* all runs are in the history */
	char *fault;   /* the reason why measuring ended early; NULL: it did not */
};

enum { LETTERS = 26, SIDES_MAX = PLAN_KINDS_MAX / 2 - 1 };

enum { BENCH_A, BENCH_B };

/* Single runs. */

static bool failed(struct bench *bench, const char *command, int exit_code)
{
	bench->fault = program_fault(command, exit_code, bench->output);
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
	if (expression)
		xcheck(history_run_fact(&run->entry, HISTORY_PRINTS, a->rate ? "rate" : "time"));
	run->entry.exit_code = 0;
	return true;
}

/* Runs the command of --prepare, before each run; its time is not part of the run's. */
static bool prepare_run(struct bench *bench, const struct bench_command *side)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", side->prepare, NULL};
	struct launch_result result;

	int rc = side->prepare ? launch_run(argv, &result) : 0;
	if (rc < 0)
		bench->fault = xasprintf("--prepare: %s", strerror(-rc));
	else if (side->prepare && result.exit_code)
		return failed(bench, side->prepare, result.exit_code);
	return rc == 0;
}

/* "a" to "z", "aa"...; the caller frees. */
static char *letters_of(size_t side)
{
	return side < LETTERS ? xasprintf("%c", (int)('a' + side))
			      : xasprintf("%c%c", (int)('a' + side / LETTERS - 1),
					(int)('a' + side % LETTERS));
}

/* Makes one run. False: it failed, and `fault` says why. */
static bool bench_launch(struct bench *bench, const struct bench_work *work, struct bench_run *run)
{
	const struct bench_command *side = &bench->commands.items[work->side];
	const char *place = bench->arguments.keep ? bench->arguments.keep : bench->directory;
	SCOPED char *letters = letters_of(work->side);
	SCOPED char *recording = xasprintf("%s/%s%zu.pftrace", place, letters, bench->runs.count);
	SCOPED char **recorder =
		work->is_recorded ? program_recorder(side->words, recording) : NULL;
	struct machine_state before, after;

	*run = (struct bench_run){.side = work->side, .is_recorded = work->is_recorded};
	if (!prepare_run(bench, side))
		return false;
	machine_state_read(&before);
	int rc = launch_run(recorder ? recorder : side->words, &run->used);
	machine_state_read(&after);
	bool good = rc == 0 && run->used.exit_code == 0;
	if (rc < 0)
		bench->fault = xasprintf("%s: %s", side->line, strerror(-rc));
	else if (!good)
		failed(bench, side->line, run->used.exit_code);
	else
		good = work->is_recorded
			       ? program_recorded(&run->entry, recording, bench->arguments.keep,
					 bench->output, &bench->fault)
			       : take_plain(bench, &run->used, side->line, run);
	if (good) {
		struct bench_machine *m = &bench->machine;
		struct machine_change change;

		machine_state_between(
			&change, &before, &after, run->used.user_ns + run->used.system_ns);
		/* a recording may say so already */
		if (machine_change_disturbs(&change) &&
			!history_run_fact_find(&run->entry, HISTORY_DISTURBED))
			xcheck(history_run_fact(&run->entry, HISTORY_DISTURBED, "yes"));
		m->disturbed += history_run_fact_find(&run->entry, HISTORY_DISTURBED) != NULL;
		m->steal += (change.steal - m->steal) / ++m->runs;
		m->others += (change.others - m->others) / m->runs;
		m->swapped += change.swapped;
	}
	if (work->is_recorded && !bench->arguments.keep)
		unlink(recording);
	return good;
}

/* The journal. */

/* Returns SIZE_MAX if there is none. */
static size_t side_of(const struct bench *bench, const char *letters)
{
	for (size_t i = 0; i < bench->commands.count; i++) {
		SCOPED char *own = letters_of(i);
		if (!strcmp(own, letters))
			return i;
	}
	return SIZE_MAX;
}

static void bench_journal_open(struct bench *bench)
{
	if (bench->arguments.resume) {
		/* a line that a killed writer left unfinished is cut off */
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
			struct bench_run run = {0};
			if (history_run_parse(&run.entry, line, (size_t)n) < 0)
				die(CLI_INPUT, "%s: is no journal of a bench", bench->journal_path);
			const char *letters = strrchr(run.entry.batch, '/');
			run.side = letters ? side_of(bench, letters + 1) : SIZE_MAX;
			if (run.side == SIZE_MAX)
				die(CLI_INPUT, "%s: is no journal of a bench of these commands",
					bench->journal_path);
			run.is_recorded = strcmp(run.entry.kind, "plain") != 0;
			run.value = bench->arguments.value || bench->arguments.rate
					    ? run.entry.value
					    : (double)run.entry.wall_ns;
			free(bench->batch);
			bench->batch = xasprintf(
				"%.*s", (int)(letters - run.entry.batch), run.entry.batch);
			xpush(&bench->runs, run);
			whole = ftell(bench->journal);
		}
		if (ftruncate(fileno(bench->journal), whole) ||
			fseek(bench->journal, whole, SEEK_SET))
			die(CLI_SYSTEM, "%s: %s", bench->journal_path, strerror(errno));
		return;
	}
	if (bench->arguments.no_history)
		return;
	/* the journal is beside the history's file, or else in the current directory */
	bench->journal_path = user_path(USER_DATA, "%s.bench", bench->batch);
	if (!bench->journal_path)
		bench->journal_path = xasprintf("%s.bench", bench->batch);
	user_path_make(bench->journal_path);
	bench->journal = fopen(bench->journal_path, "we");
	if (!bench->journal)
		warn("bench: %s: %s: finished runs are in the history only", bench->journal_path,
			strerror(errno));
}

static bool cmd_bench_write_line(struct bench *bench, const char *line)
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

/* Measuring until the answer is precise enough. */

static const double cmd_bench_alpha = 0.05;

/* The time of a token of all steps in a phase; NAN: the run has no such steps. */
static double cmd_bench_token_ns(const struct bench_run *run, const char *phase)
{
	const struct history_part *step = history_run_step(&run->entry, phase);

	return step && step->tokens && step->total_ns
		       ? (double)step->total_ns * step->united / (double)step->tokens
		       : NAN;
}

/* The number that a run is compared by: a plain run's value, a recorded run's time of a token. */
static double bench_measure_of(const struct bench_run *run)
{
	static const char *const phases[] = {"decode", "prefill", "mixed", "other"};

	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases) && run->is_recorded; i++) {
		double ns = cmd_bench_token_ns(run, phases[i]);
		if (ns > 0)
			return ns;
	}
	return run->is_recorded ? NAN : run->value;
}

/* Collects the measures of a side's plain or recorded runs, in order; returns their number. */
static size_t measures(const struct bench *bench, size_t side, bool is_recorded, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < bench->runs.count; i++) {
		const struct bench_run *run = &bench->runs.items[i];
		double value = bench_measure_of(run);
		if (run->side == side && run->is_recorded == is_recorded && value > 0)
			out[n++] = value;
	}
	return n;
}

static size_t logarithms(const struct bench *bench, size_t side, bool is_recorded, double *out)
{
	size_t n = measures(bench, side, is_recorded, out);

	for (size_t i = 0; i < n; i++)
		out[i] = log(out[i]);
	return n;
}

static size_t bench_count(const struct bench *bench, size_t side, bool is_recorded)
{
	size_t n = 0;

	for (size_t i = 0; i < bench->runs.count; i++)
		n += bench->runs.items[i].side == side &&
		     bench->runs.items[i].is_recorded == is_recorded;
	return n;
}

/* The width of the interval of one side, or of its difference from the first. */
static double cmd_bench_width_of(const struct bench *bench, size_t side, bool is_recorded)
{
	SCOPED double *a = xcalloc(2 * bench->runs.count + 1, sizeof(*a));
	double *b = a + bench->runs.count;
	size_t in_a = logarithms(bench, BENCH_A, is_recorded, a);
	size_t in_b = side ? logarithms(bench, side, is_recorded, b) : 0;
	struct statistics_shift shift = {0, -INFINITY, INFINITY};

	if (in_a && in_b)
		xcheck(statistics_shift(&shift, a, in_a, b, in_b, cmd_bench_alpha));
	else if (in_a)
		xcheck(statistics_shift_paired(&shift, a, in_a, cmd_bench_alpha));
	return (shift.high - shift.low) / 2;
}

/* Half the width of the widest interval, as a logarithm; -1: not known. */
static double bench_half_width(const struct bench *bench)
{
	double widest = -1;

	for (int is_recorded = 0; is_recorded < 2; is_recorded++)
		for (size_t side = bench->compared > 1; side < bench->compared; side++)
			if (bench_count(bench, BENCH_A, is_recorded) ||
				bench_count(bench, side, is_recorded))
				widest = fmax(widest, cmd_bench_width_of(bench, side, is_recorded));
	return isfinite(widest) ? widest : -1;
}

/* The comparison of two sides. */

static const double default_threshold = 0.01;

struct sides {
	struct compare_series *series;
	struct compare_names names;
	struct diff_origins origins;
	struct compare *compare;
	size_t count;
};

static size_t add_side(
	struct bench *bench, size_t side, struct sides *r, struct diff_origin *origins)
{
	size_t before = r->count;

	for (size_t i = 0; i < bench->runs.count; i++) {
		const struct bench_run *run = &bench->runs.items[i];
		if (run->side != side || isnan(bench_measure_of(run)))
			continue;
		xcheck(history_parts_series(&r->series[r->count], &r->names, &run->entry,
			(enum summary_by)bench->arguments.by));
		diff_origin_of_history(&origins[r->count++], &run->entry);
	}
	return r->count - before;
}

/* r->compare stays NULL if a side has no runs. */
static void compare_sides(
	struct bench *bench, size_t a, size_t b, const struct compare_rule *rule, struct sides *r)
{
	struct diff_origin *origins = xcalloc(bench->runs.count + 1, sizeof(*origins));

	memset(r, 0, sizeof(*r));
	r->series = xcalloc(bench->runs.count + 1, sizeof(*r->series));
	size_t in_a = add_side(bench, a, r, origins), in_b = add_side(bench, b, r, origins);
	diff_origins_init(&r->origins, origins, in_a, in_b);
	if (in_a && in_b)
		xcheck(compare_create(&r->compare, r->series, in_a, in_b, &r->names, rule));
}

static void sides_fini(struct sides *r)
{
	compare_destroy(r->compare);
	diff_origins_fini(&r->origins);
	for (size_t i = 0; i < r->count; i++)
		compare_series_fini(&r->series[i]);
	free(r->series);
	compare_names_fini(&r->names);
}

/*
 * The least ratio that matters: --threshold, or else the noise floor of this machine (the
 * difference of identical runs), as measured now or as the history has it.
 */
static double cmd_bench_threshold_of(const struct bench *bench, double floor)
{
	const struct bench_arguments *a = &bench->arguments;
	const char *host = bench->runs.count ? bench->runs.items[0].entry.host : "";
	uint64_t when_ns;

	if (a->threshold >= 0)
		return a->threshold;
	if (!(floor > 0) && !a->no_history)
		floor = history_runs_floor(a->db, host, &when_ns);
	return fmax(default_threshold, floor);
}

static bool cmd_bench_is_pair(const struct bench *bench)
{
	return bench->compared == 2 && !bench->pattern;
}

/* Rank of sides. */

/*
 * Collects tokens per second of recorded runs, or the values that plain runs are compared by.
 * Returns their number.
 */
static size_t ranked(
	const struct bench *bench, const struct bench_view *view, size_t side, double *out)
{
	size_t n = measures(bench, side, view->is_by_tokens, out);

	for (size_t i = 0; i < n && view->is_by_tokens; i++)
		out[i] = 1e9 / out[i];
	return n;
}

static enum difference_kind ranked_kind(const struct bench *bench, const struct bench_view *view)
{
	return view->is_by_tokens ? DIFFERENCE_RATE
				  : (bench->arguments.rate ? DIFFERENCE_RATE : DIFFERENCE_TIME);
}

/* The side of the best median; side_count: one has nothing to rank it by. */
static size_t find_best(const struct bench *bench, const struct bench_view *view, double *scratch)
{
	double sign = ranked_kind(bench, view) == DIFFERENCE_RATE ? -1 : 1, least = INFINITY;
	size_t best = view->side_count;

	for (size_t i = 0; i < view->side_count; i++) {
		size_t n = ranked(bench, view, i, scratch);
		if (!n)
			return view->side_count;
		double median = sign * statistics_median(scratch, n);
		if (median < least) {
			least = median;
			best = i;
		}
	}
	return best;
}

/*
 * Names the best side, and fills in the distance of each other side from it. The same runs decide
 * which side is best, so the intervals must hold for all pairs at once, but for `alpha`.
 */
static void cmd_bench_rank(
	const struct bench *bench, struct bench_view *view, struct bench_side *sides, double alpha)
{
	const struct difference_rule rule = {.threshold = default_threshold,
		.alpha = alpha,
		.tests = view->side_count * (view->side_count - 1) / 2};
	SCOPED double *a = xcalloc(2 * bench->runs.count + 1, sizeof(*a));
	double *b = a + bench->runs.count;

	view->best = view->side_count > 1 ? find_best(bench, view, a) : view->side_count;
	for (size_t i = 0; i < view->side_count && view->best < view->side_count; i++) {
		size_t in_a = ranked(bench, view, view->best, a), in_b = ranked(bench, view, i, b);
		if (i != view->best)
			xcheck(difference_of(&sides[i].against, ranked_kind(bench, view), a, in_a,
				b, in_b, &rule));
	}
}

/* True if the best side is known: each other side is slower than it, or the same. */
static bool cmd_bench_is_ranked(const struct bench *bench)
{
	struct bench_view view = {.side_count = bench->compared};
	SCOPED struct bench_side *sides = xcalloc(bench->compared, sizeof(*sides));

	for (size_t i = 0; i < bench->compared; i++)
		view.is_by_tokens |= bench_count(bench, i, true) > 0;
	cmd_bench_rank(bench, &view, sides, stop_early_alpha / STOP_LOOKS);
	for (size_t i = 0; i < bench->compared && view.best < bench->compared; i++)
		if (i != view.best && sides[i].against.verdict != COMPARE_SLOWER &&
			sides[i].against.verdict != COMPARE_SAME)
			return false;
	return view.best < bench->compared;
}

/* True if the verdict is settled, except with the probability of stop_early_alpha. */
static bool cmd_bench_is_settled(struct bench *bench, uint64_t done)
{
	const struct compare_rule rule = {.threshold = cmd_bench_threshold_of(bench, 0),
		.metric = (enum compare_metric)bench->arguments.metric,
		.alpha = 2 * stop_early_alpha / STOP_LOOKS,
		.even_disturbed = true};
	SCOPED_BY(sides_fini) struct sides r = {0};

	if (bench->compared < 2 || done < STOP_SETTLED_FROM)
		return false;
	if (!cmd_bench_is_pair(bench))
		return cmd_bench_is_ranked(bench);
	compare_sides(bench, BENCH_A, BENCH_B, &rule, &r);
	return r.compare && compare_is_settled(r.compare, rule.metric, done < STOP_SETTLED_ALL);
}

/* Progress. */

static uint64_t runs_wanted(
	const struct bench *bench, const struct stop_rule *rule, uint64_t done, double half_width)
{
	uint64_t forecast = stop_forecast(rule, done, half_width);
	uint64_t most = rule->runs ? rule->runs : STOP_RUNS_MAX;

	if (rule->runs || forecast == UINT64_MAX)
		return most;
	return forecast < STOP_RUNS_MIN ? STOP_RUNS_MIN : forecast < most ? forecast : most;
}

static void cmd_bench_show_progress(
	const struct bench *bench, const struct stop_rule *rule, uint64_t done, double half_width)
{
	double elapsed = (double)(monotonic_ns() - bench->begin_ns) / 1e9;
	size_t made = bench->machine.runs;

	if (bench->arguments.quiet || !isatty(STDERR_FILENO) || !made)
		return;
	uint64_t wanted = runs_wanted(bench, rule, done, half_width);
	double left = rule->time_ns ? (double)rule->time_ns / 1e9 - elapsed
				    : elapsed / (double)made *
					      ((double)(wanted * bench->work_count) - (double)made);
	fprintf(stderr, "\r\033[Kbench: %zu runs", made);
	if (half_width >= 0)
		fprintf(stderr, ", +-%.1f%%", 100 * expm1(half_width));
	fprintf(stderr, ", about %.0f s left", left > 0 ? ceil(left) : 0);
}

/* Prints an estimate of the whole time, by the warm-up runs. */
static void foretell(const struct bench *bench, const struct stop_rule *rule, bool is_early)
{
	size_t made = bench->arguments.warm_up * bench->compared;
	double block_ns = made ? (double)(monotonic_ns() - bench->begin_ns) / (double)made *
					  (double)bench->work_count
			       : 0;
	double least = rule->runs			 ? (double)rule->runs
		       : is_early && bench->compared > 1 ? STOP_SETTLED_FROM
							 : STOP_RUNS_MIN;
	double most = rule->runs ? (double)rule->runs : STOP_RUNS_MAX;
	char one[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];

	if (bench->arguments.quiet || !made || rule->time_ns || program_interrupted)
		return;
	units_time(one, number_of_double(block_ns));
	units_time(low, number_of_double(block_ns * least));
	units_time(high, number_of_double(block_ns * most));
	if (rule->runs)
		fprintf(stderr, "bench: %llu block%s of %zu run%s, each about %s: about %s\n",
			(unsigned long long)rule->runs, plural_s(rule->runs), bench->work_count,
			plural_s(bench->work_count), one, low);
	else
		fprintf(stderr,
			"bench: %.0f to %.0f blocks of %zu run%s, each about %s: about %s to %s, "
			"until %s\n",
			least, most, bench->work_count, plural_s(bench->work_count), one, low, high,
			is_early && bench->compared > 1 ? "the verdict cannot change any more"
							: "the intervals are narrow enough");
}

static bool is_labelled(const struct bench *bench, size_t side)
{
	return bench->arguments.label && side == (bench->compared > 1 ? BENCH_B : BENCH_A);
}

static bool make_run(struct bench *bench)
{
	const struct bench_work *work = &bench->work[plan_next(&bench->plan)];
	struct bench_run run;

	if (!bench_launch(bench, work, &run))
		return false;
	SCOPED char *letters = letters_of(work->side);
	SCOPED char *batch = xasprintf("%s/%s", bench->batch, letters);
	history_entry_text(&run.entry.batch, batch);
	if (is_labelled(bench, work->side))
		xcheck(history_run_label(&run.entry, bench->arguments.label));
	xpush(&bench->runs, run);
	SCOPED char *line = bench->journal ? history_run_line(&run.entry) : NULL;
	bool good = !line || cmd_bench_write_line(bench, line);

	if (!bench->arguments.no_history)
		bench->all_kept &= history_runs_keep(bench->arguments.db, &run.entry) == 0;
	return good;
}

/* The number of runs of the rarest kind. */
static uint64_t runs_of_each(const struct bench *bench)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < bench->work_count; i++) {
		size_t n = bench_count(bench, bench->work[i].side, bench->work[i].is_recorded);
		least = n < least ? n : least;
	}
	return least;
}

/* A run that a signal ended does not count, and its messages are not shown. */
static enum stop_reason end_early(struct bench *bench)
{
	if (program_interrupted) {
		free(bench->fault);
		bench->fault = NULL;
	}
	return STOP_INTERRUPTED;
}

/* Makes runs until the rule says stop. */
static enum stop_reason bench_measure(struct bench *bench)
{
	const struct bench_arguments *a = &bench->arguments;
	double precision = a->precision >= 0 ? a->precision : a->runs || a->time_s > 0 ? 0 : 0.01;
	const struct stop_rule rule = {a->runs, number_of_double(a->time_s * 1e9), precision};
	/* with --floor the threshold, which the verdict needs, is known only at the end */
	bool is_early = !rule.runs && !rule.time_ns && bench->arguments.precision < 0 &&
			!bench->arguments.floor;
	enum stop_reason reason = STOP_GO_ON;
	struct machine_state state;
	char doubt[160];

	machine_state_read(&state);
	bench->machine.cpus = state.cpus;
	bench->machine.load = state.load;
	bench->machine.frequency_mhz = state.frequency_mhz;
	bench->machine.temperature = state.temperature;
	for (int i = 0; (i = machine_state_doubt(&state, (unsigned)i, doubt, sizeof(doubt))) > 0;)
		if (!bench->arguments.quiet)
			warn("bench: %s", doubt);
	if (rule.runs && runs_of_each(bench) >= rule.runs) /* those of a journal are enough */
		return STOP_RUNS;
	for (unsigned long k = 0; k < bench->arguments.warm_up; k++)
		for (size_t side = 0; side < bench->compared && !program_interrupted; side++) {
			const struct bench_work work = {side, bench->work[0].is_recorded};
			struct bench_run run;
			if (!bench->commands.items[side].words)
				continue;
			if (!bench_launch(bench, &work, &run))
				return end_early(bench);
			history_run_fini(&run.entry);
		}
	bench->machine.runs = bench->machine.disturbed = 0;
	bench->machine.steal = bench->machine.others = 0;
	foretell(bench, &rule, is_early);
	while (reason == STOP_GO_ON) {
		if (!make_run(bench) || program_interrupted) {
			reason = end_early(bench);
			break;
		}
		uint64_t done = runs_of_each(bench);
		double half_width = bench->plan.at ? -1 : bench_half_width(bench);
		bool is_time = rule.time_ns && monotonic_ns() - bench->begin_ns >= rule.time_ns;
		if (!bench->plan.at)
			cmd_bench_show_progress(bench, &rule, done, half_width);
		/* never between two sides: one would have more runs than the other */
		if (plan_is_even(&bench->plan) || (is_time && !bench->plan.at) ||
			(rule.runs && done >= rule.runs && !bench->plan.at))
			reason = stop_look(
				&rule, done, monotonic_ns() - bench->begin_ns, half_width);
		if (reason == STOP_GO_ON && is_early && plan_is_even(&bench->plan) &&
			cmd_bench_is_settled(bench, done))
			reason = STOP_SETTLED;
	}
	if (!bench->arguments.quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	return reason;
}

/* The answer. */

/* The value of plain runs of the only side. False: it has none. */
static bool measure_alone(struct bench *bench, struct difference *d)
{
	SCOPED double *values = xcalloc(bench->runs.count + 1, sizeof(*values));
	size_t n = measures(bench, BENCH_A, false, values);

	struct statistics_shift shift;

	if (!n)
		return false;
	for (size_t i = 0; i < n; i++)
		values[i] = log(values[i]);
	xcheck(statistics_shift_paired(&shift, values, n, 0.05));
	*d = (struct difference){.a = exp(shift.shift),
		.b = NAN,
		.effect = NAN,
		.p = NAN,
		.low = exp(shift.low),
		.high = exp(shift.high)};
	return true;
}

/* The largest difference between A and a second A (--floor), of recorded or of plain runs. */
static double cmd_bench_floor_of(struct bench *bench, bool is_recorded)
{
	const struct compare_rule rule = {.threshold = -1};
	SCOPED_BY(sides_fini) struct sides r = {0};
	double most = 0;

	compare_sides(bench, BENCH_A, bench->compared, &rule, &r);
	for (size_t i = 0; r.compare && i < r.compare->row_count; i++) {
		const struct compare_row *row = &r.compare->rows[i];
		bool is_plain = row->measure == COMPARE_PRINTED ||
				(row->measure == COMPARE_WALL && r.compare->runs[0].plain);
		if ((is_recorded ? row->measure == COMPARE_TIME : is_plain) &&
			isfinite(row->difference.effect))
			most = fmax(most, fabs(row->difference.effect));
	}
	return most;
}

/* The recorded run of a side whose token time is nearest to the median. */
static const struct history_run *typical_of(const struct bench *bench, size_t side)
{
	SCOPED double *values = xcalloc(bench->runs.count + 1, sizeof(*values));
	const struct history_run *typical = NULL;
	size_t n = 0;
	double nearest = INFINITY;

	for (size_t i = 0; i < bench->runs.count; i++)
		if (bench->runs.items[i].side == side && bench->runs.items[i].is_recorded)
			values[n++] = bench_measure_of(&bench->runs.items[i]);
	double median = n ? statistics_median(values, n) : NAN;
	for (size_t i = 0; i < bench->runs.count && n; i++) {
		const struct bench_run *run = &bench->runs.items[i];
		double distance = fabs(bench_measure_of(run) - median);
		if (run->side == side && run->is_recorded && distance < nearest) {
			nearest = distance;
			typical = &run->entry;
		}
	}
	return typical;
}

/* The numbers of one side, for its row. */

static struct bench_rate cmd_bench_rate_of(
	const struct bench *bench, size_t side, const char *phase, double *scratch)
{
	struct statistics_shift shift = {NAN, NAN, NAN};
	size_t n = 0;

	for (size_t i = 0; i < bench->runs.count; i++) {
		const struct bench_run *run = &bench->runs.items[i];
		double ns = cmd_bench_token_ns(run, phase);
		if (run->side == side && run->is_recorded && ns > 0)
			scratch[n++] = log(1e9 / ns);
	}
	if (n)
		xcheck(statistics_shift_paired(&shift, scratch, n, cmd_bench_alpha));
	return (struct bench_rate){exp(shift.shift), exp(shift.low), exp(shift.high)};
}

static void fill_side(const struct bench *bench, size_t i, struct bench_side *side)
{
	const struct bench_command *command = &bench->commands.items[i];
	SCOPED double *scratch = xcalloc(bench->runs.count + 1, sizeof(*scratch));
	size_t n = 0;

	*side = (struct bench_side){.name = command->name,
		.command = command->line,
		.plain = bench_count(bench, i, false),
		.recorded = bench_count(bench, i, true),
		.prefill = cmd_bench_rate_of(bench, i, "prefill", scratch),
		.decode = cmd_bench_rate_of(bench, i, "decode", scratch),
		.against = {.effect = NAN, .low = NAN, .high = NAN}};
	for (size_t k = 0; k < bench->runs.count; k++) {
		const struct bench_run *run = &bench->runs.items[k];
		if (run->side == i && !run->is_recorded)
			scratch[n++] = run->value;
		if (run->side == i && !command->words)
			side->command = run->entry.command;
	}
	xcheck(statistics_spread(&side->spread, scratch, n));
	/* use of resources, of plain runs if there are any: a recorded one holds Brick's rings */
	double user_ns = 0, system_ns = 0;
	n = 0;
	for (size_t k = 0; k < bench->runs.count; k++) {
		const struct bench_run *run = &bench->runs.items[k];
		if (run->side != i || run->is_recorded != !side->plain || !run->used.peak_bytes)
			continue;
		user_ns += (double)run->used.user_ns;
		system_ns += (double)run->used.system_ns;
		scratch[n++] = (double)run->used.peak_bytes;
	}
	side->user_ns = n ? user_ns / (double)n : NAN;
	side->system_ns = n ? system_ns / (double)n : NAN;
	side->peak_bytes = n ? statistics_median(scratch, n) : NAN;
}

/* Differences in speed or memory below this share count as none. */
static const double pareto_slack = 0.01;

static double cmd_bench_value_of(const struct bench_view *view, const struct bench_side *side)
{
	double rate = isnan(side->decode.value) ? side->prefill.value : side->decode.value;

	return view->is_by_tokens ? rate
	       : view->is_rate	  ? side->spread.median
				  : 1 / side->spread.median;
}

static bool is_dominated(const struct bench_view *view, const struct bench_side *side,
	const struct bench_side *other)
{
	double faster = cmd_bench_value_of(view, other) / cmd_bench_value_of(view, side);
	double smaller = side->peak_bytes / other->peak_bytes;

	return faster > 1 - pareto_slack && smaller > 1 - pareto_slack &&
	       (faster > 1 + pareto_slack || smaller > 1 + pareto_slack);
}

static void mark_pareto(const struct bench_view *view, struct bench_side *sides)
{
	for (size_t i = 0; i < view->side_count; i++) {
		sides[i].is_pareto =
			view->side_count > 1 && !view->is_pair && !isnan(sides[i].peak_bytes);
		for (size_t k = 0; k < view->side_count && sides[i].is_pareto; k++)
			sides[i].is_pareto = !is_dominated(view, &sides[i], &sides[k]);
	}
}

static bool has_history(const struct bench_arguments *a)
{
	SCOPED char *where = a->db ? xstrdup(a->db) : history_default();

	return where && strcmp(where, "none") != 0;
}

static size_t cmd_bench_disturbed(const struct bench *bench)
{
	size_t n = 0;

	for (size_t i = 0; i < bench->runs.count; i++)
		n += history_run_fact_find(&bench->runs.items[i].entry, HISTORY_DISTURBED) != NULL;
	return n;
}

static void fill_view(struct bench *bench, enum stop_reason reason, struct bench_side *sides,
	struct bench_view *view)
{
	const struct bench_arguments *a = &bench->arguments;
	const struct stop_rule rule = {.precision = a->precision >= 0 ? a->precision : 0.01};
	size_t most = 0;

	view->sides = sides;
	view->side_count = bench->compared;
	view->pattern = bench->pattern;
	view->is_pair = cmd_bench_is_pair(bench);
	view->measure = a->value || a->rate ? "what it printed" : "wall time";
	view->is_rate = a->rate != NULL;
	for (size_t i = 0; i < bench->compared; i++) {
		fill_side(bench, i, &sides[i]);
		most = sides[i].plain > most ? sides[i].plain : most;
		most = sides[i].recorded > most ? sides[i].recorded : most;
		view->is_by_tokens |= sides[i].recorded > 0;
	}
	cmd_bench_rank(bench, view, sides, cmd_bench_alpha);
	mark_pareto(view, sides);
	view->is_disturbed = !a->disturbed && bench->compared > 1 && !view->is_pair &&
			     2 * cmd_bench_disturbed(bench) > bench->runs.count;
	if (view->is_disturbed)
		view->best = view->side_count;
	view->batch = bench->batch;
	view->is_kept = bench->all_kept && has_history(a);
	view->reason = stop_reason_name(reason);
	view->fault = bench->fault;
	view->elapsed_s = (double)(monotonic_ns() - bench->begin_ns) / 1e9;
	view->precision = rule.precision;
	view->half_width = bench_half_width(bench);
	view->forecast = stop_forecast(&rule, most, view->half_width);
	view->machine = bench->machine;
}

/* The summary of a GitHub job takes lines that are appended to it. */
static void print_github(const struct bench *bench, const struct bench_view *view)
{
	const char *summary =
		bench->arguments.output ? bench->arguments.output : getenv("GITHUB_STEP_SUMMARY");
	FILE *out = summary && *summary ? fopen(summary, "ae") : stdout;

	if (!out)
		die(CLI_SYSTEM, "%s: %s", summary, strerror(errno));
	bench_markdown(view, out);
	if (out == stdout) {
		bench_annotation(view, stdout);
		return;
	}
	if (fclose(out))
		die(CLI_SYSTEM, "%s: %s", summary, strerror(errno));
	bench_text(view, stdout);
	bench_annotation(view, stdout);
}

static void print_answer(const struct bench *bench, const struct bench_view *view)
{
	const struct bench_arguments *a = &bench->arguments;

	if (a->form == bench_annotation) {
		print_github(bench, view);
		return;
	}
	struct output *output = output_open(a->output, NULL);
	a->form(view, output_stream(output));
	output_commit(output, 0);
	if (a->output && a->form != bench_text)
		bench_text(view, stdout);
}

static int exit_code(const struct bench *bench, const struct bench_view *view)
{
	bool is_gate = view->is_pair && view->diff;

	if (bench->fault || view->is_disturbed || (is_gate && view->diff->compare->is_disturbed))
		return CLI_NOT_KNOWN;
	if (is_gate && difference_fails(view->diff->compare->verdict, false))
		return CLI_GATE;
	return bench->arguments.bisect && view->is_pair &&
			       (!is_gate || difference_fails(view->diff->compare->verdict, true))
		       ? CLI_NOT_KNOWN
		       : CLI_DONE;
}

/* The noise floor: the difference of identical runs; 0 without --floor. */
static void fill_floor(struct bench *bench, struct bench_view *view)
{
	view->floor = cmd_bench_floor_of(bench, true);
	view->plain_floor = cmd_bench_floor_of(bench, false);
	/* `brick diff` takes it as a threshold; a printed number says nothing of other programs */
	bool is_printed = bench->arguments.value || bench->arguments.rate;
	double value = is_printed ? view->floor : fmax(view->floor, view->plain_floor);
	struct history_run entry;
	if (!(value > 0) || bench->arguments.no_history)
		return;
	history_entry_here(&entry, "floor", "bench --floor");
	entry.value = value;
	history_runs_keep(bench->arguments.db, &entry);
	history_run_fini(&entry);
}

/* Fills a view of A and B with their differences. The other arguments must outlive the view. */
static void fill_pair(
	struct bench *bench, struct bench_view *view, struct sides *r, struct diff_view *diff)
{
	double floor = fmax(view->floor, view->plain_floor);
	const struct compare_rule rule = {.threshold = cmd_bench_threshold_of(bench, floor),
		.metric = (enum compare_metric)bench->arguments.metric,
		.even_disturbed = bench->arguments.disturbed};

	view->threshold = rule.threshold;
	compare_sides(bench, BENCH_A, BENCH_B, &rule, r);
	*diff = (struct diff_view){r->compare, &r->origins, (enum summary_by)bench->arguments.by,
		15, false, floor, NULL};
	view->diff = r->compare && r->compare->row_count ? diff : NULL;
}

/* Compares and prints. Returns the exit code. */
static int bench_answer(struct bench *bench, enum stop_reason reason)
{
	SCOPED struct bench_side *sides = xcalloc(bench->compared, sizeof(*sides));
	struct bench_view view = {0};
	struct difference plain;
	struct diff_view diff;
	SCOPED_BY(sides_fini) struct sides r = {0};

	if (bench->fault)
		warn("bench: %s", bench->fault);
	if (!bench->runs.count && bench->arguments.form == bench_text)
		return CLI_NOT_KNOWN; /* the fault was printed, and there is no answer */
	fill_view(bench, reason, sides, &view);
	if (view.is_pair || view.side_count == 1)
		fill_floor(bench, &view);
	if (view.is_pair)
		fill_pair(bench, &view, &r, &diff);
	else if (view.side_count == 1 && measure_alone(bench, &plain))
		view.plain = &plain;
	view.typical = typical_of(bench, BENCH_A);
	print_answer(bench, &view);
	return exit_code(bench, &view);
}

/* The command. */

/* "90", "90s", "5m", "1.5h". */
static void cmd_bench_set_time(const struct option_use *use, const char *text)
{
	SCOPED char *number = xstrdup(text);
	size_t n = strlen(number);
	double unit = 1;

	if (n > 1 && strchr("smh", number[n - 1])) {
		unit = number[n - 1] == 'm' ? 60 : number[n - 1] == 'h' ? 3600 : 1;
		number[n - 1] = '\0';
	}
	*(double *)use->to =
		unit * option_double(use, number, 0.001, 1e6, "a time such as 90, 5m or 1h");
}

static const struct form {
	const char *name;
	bench_form_fn write;
} cmd_bench_forms[] = {
	{"text", bench_text},
	{"json", bench_json},
	{"markdown", bench_markdown},
	{"junit", bench_junit},
	{"github", bench_annotation},
};

static void cmd_bench_words_form(struct option_words *words)
{
	for (size_t i = 0; i < sizeof(cmd_bench_forms) / sizeof(cmd_bench_forms[0]); i++)
		words_add(words, cmd_bench_forms[i].name);
}

static void cmd_bench_set_form(const struct option_use *use, const char *text)
{
	*(bench_form_fn *)use->to = cmd_bench_forms[option_choice(use, text)].write;
}

static void cmd_bench_set_json(const struct option_use *use, const char *text)
{
	*(bench_form_fn *)use->to = bench_json;
}

#define OF(member) .at = offsetof(struct bench_arguments, member)

static const struct cli_option cmd_bench_option_table[] = {
	{"runs", "N", "runs of each side and kind", option_number, OF(runs), .low = 1,
		.high = 100000},
	{"time", "T", "measure for so long: 90, 5m, 1h", cmd_bench_set_time, OF(time_s)},
	{"precision", "P",
		"stop when all intervals are within +-P percent, or say that they will not be; 10 "
		"to 60 runs (default: 1, and for several commands as soon as the verdict cannot "
		"change)",
		option_percent, OF(precision)},
	{"warmup", "N", "runs of each side that do not count (default: 1)", option_number,
		OF(warm_up), .low = 0, .high = 1000},
	{"param", "NAME=VALUES",
		"run with {NAME} in the commands as each of VALUES (1,2,4); "
		"several make all combinations",
		option_param, OF(matrix)},
	{"prepare", "COMMAND", "run this in the shell before each run; its time does not count",
		option_text, OF(prepare)},
	{"plain", NULL, "only runs without recording", option_flag, OF(plain)},
	{"recorded", NULL, "only recorded runs", option_flag, OF(recorded)},
	{"value", "REGEX",
		"compare plain runs by the number that this finds in their output (first group, "
		"last match); less is better",
		option_text, OF(value)},
	{"rate", "REGEX", "the same, and more is better", option_text, OF(rate)},
	{"floor", NULL,
		"also run A against itself: differences as small as that are noise, here and in "
		"'brick diff'",
		option_flag, OF(floor)},
	{"threshold", "PERCENT", "smaller differences do not matter (default: 1, or the floor)",
		option_percent, OF(threshold)},
	{"metric", "WHAT",
		"decide by decode, prefill, mixed (tokens/s), other (steps/s), wall, printed or "
		"first-token "
		"(default: "
		"what is printed, else the first that differs of decode, wall, prefill, ...)",
		option_index, OF(metric), .words = words_metrics},
	{"baseline", "NAME", "A is what the history has with that label", option_text, OF(baseline),
		.words = words_labels},
	{"label", "NAME", "give these runs (those of B, of two commands) this label in the history",
		option_text, OF(label)},
	{"by", "WHAT", "brick (default), category or layer", option_index, OF(by),
		.words = words_rows},
	{"bisect", NULL, "exit code 125 also when the runs do not judge", option_flag, OF(bisect)},
	{"disturbed", NULL,
		"judge also where other programs disturbed more than half of a side's runs",
		option_flag, OF(disturbed)},
	{"seed", "N", "of the random order (default: 1)", option_number, OF(seed), .low = 0,
		.high = UINT32_MAX},
	{"keep", "DIR", "keep the recordings there; made if it is missing", option_text, OF(keep)},
	{"resume", "FILE", "count the runs of a bench that was killed: its journal", option_text,
		OF(resume)},
	{"no-history", NULL, "keep the runs neither in the history nor in a journal", option_flag,
		OF(no_history)},
	{"db", "WHERE", "the history (default: BRICK_DB)", option_text, OF(db)},
	{"format", "FORMAT",
		"text (default); json: schema brick/bench/2; markdown: for a pull "
		"request; junit: for test reports; github: an annotation, and markdown for the "
		"summary of a job",
		cmd_bench_set_form, OF(form), .words = cmd_bench_words_form},
	{"output", "OUT", "write it to this file, and text to standard output", option_text,
		OF(output), .letter = 'o'},
	{"json", NULL, "the same as --format json", cmd_bench_set_json, OF(form)},
	{"quiet", NULL, "no progress", option_flag, OF(quiet), .letter = 'q'},
	OPTION_HELP,
};

static void find_commands(struct bench *bench, char **operands, int count)
{
	const struct bench_arguments *a = &bench->arguments;
	const struct matrix *matrix = &a->matrix;
	size_t commands = 1, number = 0;

	for (int i = 0; i < count; i++)
		commands += !strcmp(operands[i], "---");
	for (int at = 0, end; at <= count; at = end + 1) {
		for (end = at; end < count && strcmp(operands[end], "---");)
			end++;
		if (end == at)
			die_usage("bench", "which command? -- CMD, or -- CMD_A --- CMD_B ...");
		operands[end] = NULL; /* argv ends with NULL */
		char **words = operands + at;
		SCOPED char *letters = letters_of(number++);
		const char *unused = matrix_unused(matrix, words);
		if (unused)
			die_usage("bench", "--param %s: no {%s} in the command", unused, unused);
		for (char *c = letters; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		for (size_t i = 0; i < matrix_size(matrix); i++) {
			SCOPED char *setting = matrix_text(matrix, i);
			struct bench_command command = {.words = matrix_command(matrix, i, words)};
			command.line = program_line(command.words);
			command.name = matrix->params.count && commands == 1 ? xstrdup(setting)
				       : matrix->params.count ? xasprintf("%s %s", letters, setting)
							      : xstrdup(letters);
			if (a->prepare)
				command.prepare = matrix_fill(matrix, i, a->prepare);
			xpush(&bench->commands, command);
		}
		SCOPED char *line = program_line(words);
		if (matrix->params.count)
			xappend(&bench->pattern, " --- ", "%s", line);
	}
	bench->compared = bench->commands.count;
	if (a->baseline && bench->compared > 1)
		die_usage("bench", "--baseline is A: one command, please, without parameters");
	if (a->label && bench->compared > 2)
		die_usage("bench", "--label: of one command or of two");
	if (a->floor && (a->baseline || bench->compared > 2 || bench->pattern))
		die_usage("bench", "--floor runs A against itself: with one command or two, not "
				   "with --baseline or --param");
	if (bench->compared > SIDES_MAX)
		die_usage("bench", "%zu settings of %zu command%s: at most %d together",
			bench->compared / commands, commands, plural_s(commands), SIDES_MAX);
	if (a->baseline) {
		struct bench_command kept = {.name = xstrdup("A"), .line = xstrdup("")};
		xpush(&bench->commands, bench->commands.items[0]);
		bench->commands.items[0] = kept;
		bench->commands.items[1].name[0] = 'B';
		bench->compared = 2;
	}
	if (a->floor)
		xpush(&bench->commands,
			(struct bench_command){.words = matrix_command(matrix, 0, operands),
				.line = xstrdup(bench->commands.items[0].line),
				.name = xstrdup("A again")});
}

static void cmd_bench_add_work(struct bench *bench, bool is_recorded)
{
	for (size_t side = 0; side < bench->commands.count; side++)
		if (bench->commands.items[side].words)
			bench->work[bench->work_count++] = (struct bench_work){side, is_recorded};
}

/* Reads side A from the history. */
static void load_baseline(struct bench *bench)
{
	struct history_runs runs = {0};
	struct history_store *store;

	if (!bench->arguments.baseline)
		return;
	store = history_runs_open(bench->arguments.db, false);
	history_runs_find(&runs, store, bench->arguments.baseline);
	history_runs_keep_alike(&runs, 0, bench->arguments.baseline);
	for (size_t i = 0; i < runs.list.count; i++) {
		struct history_run *entry = &runs.list.items[i];
		bool is_recorded = strcmp(entry->kind, "plain") != 0;
		struct bench_run run = {BENCH_A, is_recorded,
			bench->arguments.value || bench->arguments.rate ? entry->value
									: (double)entry->wall_ns,
			*entry, {0}};
		xpush(&bench->runs, run);
	}
	array_fini(&runs.list);
	history_store_close(store);
}

static int run_bench(int argc, char **argv)
{
	struct bench bench = {.arguments = {.warm_up = 1,
				      .seed = 1,
				      .precision = -1,
				      .threshold = -1,
				      .form = bench_text,
				      .by = SUMMARY_BY_BRICK}};

	options_parse(&command_bench, &bench.arguments, argc, argv);
	const struct bench_arguments *a = &bench.arguments;
	if (a->plain && a->recorded)
		die_usage("bench", "--plain and --recorded exclude each other");
	if (a->value && a->rate)
		die_usage("bench", "--value and --rate exclude each other");
	if (a->recorded && (a->value || a->rate))
		die_usage("bench", "--value and --rate are of plain runs: not with --recorded");
	if (a->no_history && a->baseline && !a->db && !getenv("BRICK_DB"))
		die_usage("bench", "--baseline is in the history: not with --no-history");
	const char *expression = a->value ? a->value : a->rate;
	double value;
	if (expression && launch_value("/dev/null", expression, &value) < 0)
		die_usage("bench",
			"%s: must be a regular expression with a group: "
			"'([0-9.]+) tokens per second'",
			expression);
	find_commands(&bench, argv + optind, argc - optind);
	program_runs_begin("bench", &bench.directory, &bench.output);
	program_directory(bench.arguments.keep);
	bench.begin_ns = monotonic_ns();
	bench.all_kept = !bench.arguments.no_history;
	if (!bench.arguments.recorded)
		cmd_bench_add_work(&bench, false);
	if (!bench.arguments.plain)
		cmd_bench_add_work(&bench, true);
	plan_init(&bench.plan, bench.work_count, bench.arguments.seed);
	load_baseline(&bench);
	bench.batch =
		xasprintf("bench-%llx-%x", (unsigned long long)time(NULL), (unsigned)getpid());
	bench_journal_open(&bench);
	enum stop_reason reason = bench_measure(&bench);
	int code = bench_answer(&bench, reason);
	bool keep = !bench.all_kept || reason == STOP_INTERRUPTED;
	if (bench.journal) {
		fclose(bench.journal);
		if (keep && bench.runs.count)
			warn("bench: its runs are in %s; 'brick bench --resume' goes on with them",
				bench.journal_path);
		else
			unlink(bench.journal_path);
	}
	free(bench.journal_path);
	program_runs_end(bench.directory, bench.output);
	for (size_t i = 0; i < bench.commands.count; i++) {
		run_list_free(bench.commands.items[i].words);
		free(bench.commands.items[i].line);
		free(bench.commands.items[i].name);
		free(bench.commands.items[i].prepare);
	}
	array_fini(&bench.commands);
	matrix_fini(&bench.arguments.matrix);
	free(bench.pattern);
	for (size_t i = 0; i < bench.runs.count; i++)
		history_run_fini(&bench.runs.items[i].entry);
	array_fini(&bench.runs);
	free(bench.batch);
	free(bench.fault);
	return code;
}

const struct cli_command command_bench = {
	.name = "bench",
	.summary = "run programs in turns, and say which is faster",
	.run = run_bench,
	.flags = CLI_RUNS,
	.usage = "[OPTIONS] -- CMD...\n[OPTIONS] -- CMD_A... --- CMD_B... [--- CMD_C...]\n"
		 "[OPTIONS] --param threads=1,2,4 -- CMD... {threads}",
	.about = "Run programs in fresh processes, in turns and in random order, plain and "
		 "recorded, until the answer is precise enough: which is faster, by which brick, "
		 "and is that noise? With more than two commands, or with parameters, it names the "
		 "best. Exit code 1 when B is slower than A, 125 when a program failed or others "
		 "disturbed the runs: fit for 'git bisect run'. Ctrl-C ends it with the runs that "
		 "are there.",
	.options = cmd_bench_option_table,
};
