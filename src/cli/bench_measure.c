/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of `brick bench`, one after the other, until the rule says stop. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/accounts/statistics.h"
#include "base/clock_ns.h"
#include "base/members.h"
#include "cli/cmd_bench.h"
#include "cli/die.h"
#include "cli/history_entry.h"

static const double alpha = 0.05;

double bench_measure_of(const struct bench_run *run)
{
	static const char *const phases[] = {"decode", "prefill", "mixed"};

	for (size_t i = 0; i < 3 && run->is_recorded; i++) {
		const struct history_part *step = history_run_step(&run->entry, phases[i]);
		if (step && step->typical_tokens && step->typical_ns)
			return (double)step->typical_ns / (double)step->typical_tokens;
	}
	return run->is_recorded ? NAN : run->value;
}

/* Logarithms of one kind of runs of a side; how many. */
static size_t logarithms(
	const struct bench *bench, enum bench_side side, bool is_recorded, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < bench->runs.count; i++) {
		const struct bench_run *run = &bench->runs.items[i];
		double value = bench_measure_of(run);
		if (run->side == side && run->is_recorded == is_recorded && value > 0)
			out[n++] = log(value);
	}
	return n;
}

size_t bench_count(const struct bench *bench, enum bench_side side, bool is_recorded)
{
	size_t n = 0;

	for (size_t i = 0; i < bench->runs.count; i++)
		n += bench->runs.items[i].side == side &&
		     bench->runs.items[i].is_recorded == is_recorded;
	return n;
}

static double width_of_kind(const struct bench *bench, bool is_recorded)
{
	double *a = xcalloc(2 * bench->runs.count + 1, sizeof(*a)), *b = a + bench->runs.count;
	size_t in_a = logarithms(bench, BENCH_A, is_recorded, a);
	size_t in_b = logarithms(bench, BENCH_B, is_recorded, b);
	struct statistics_shift shift = {0, -INFINITY, INFINITY};
	int rc = in_a && in_b ? statistics_shift(&shift, a, in_a, b, in_b, alpha)
		 : in_a	      ? statistics_shift_paired(&shift, a, in_a, alpha)
			      : 0;

	free(a);
	xcheck(rc);
	return (shift.high - shift.low) / 2;
}

double bench_half_width(const struct bench *bench)
{
	double widest = -1;

	for (int is_recorded = 0; is_recorded < 2; is_recorded++)
		if (bench_count(bench, BENCH_A, is_recorded) ||
			bench_count(bench, BENCH_B, is_recorded))
			widest = fmax(widest, width_of_kind(bench, is_recorded));
	return isfinite(widest) ? widest : -1;
}

/* ---- progress ---- */

static uint64_t runs_wanted(
	const struct bench *bench, const struct stop_rule *rule, uint64_t done, double half_width)
{
	uint64_t forecast = stop_forecast(rule, done, half_width);
	uint64_t most = rule->runs ? rule->runs : STOP_RUNS_MAX;

	if (rule->runs || forecast == UINT64_MAX)
		return most;
	return forecast < STOP_RUNS_MIN ? STOP_RUNS_MIN : forecast < most ? forecast : most;
}

static void show_progress(
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

static void end_progress(const struct bench *bench)
{
	if (!bench->arguments.quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- runs ---- */

static void warn_of_machine(struct bench *bench)
{
	struct machine_state state;
	char doubt[160];

	machine_state_read(&state);
	members_copy(&bench->machine, &state, cpus, load, frequency_mhz, temperature);
	for (int i = 0; (i = machine_state_doubt(&state, (unsigned)i, doubt, sizeof(doubt))) > 0;)
		if (!bench->arguments.quiet)
			warn("bench: %s", doubt);
}

static bool warm_up(struct bench *bench)
{
	for (unsigned long k = 0; k < bench->arguments.warm_up; k++)
		for (int side = 0; side < BENCH_AGAIN && !bench_interrupted; side++) {
			const struct bench_work work = {
				(enum bench_side)side, bench->work[0].is_recorded};
			struct bench_run run;
			if (!bench->commands[side])
				continue;
			if (!bench_launch(bench, &work, &run))
				return false;
			history_run_fini(&run.entry);
		}
	bench->machine.runs = bench->machine.disturbed = 0;
	bench->machine.steal = bench->machine.others = 0;
	return true;
}

static bool is_labelled(const struct bench *bench, enum bench_side side)
{
	return bench->arguments.label && side == (bench->commands[BENCH_B] ? BENCH_B : BENCH_A);
}

static bool make_run(struct bench *bench)
{
	const struct bench_work *work = &bench->work[plan_next(&bench->plan)];
	struct bench_run run;

	if (!bench_launch(bench, work, &run))
		return false;
	SCOPED char *batch = xasprintf("%s/%c", bench->batch, "abc"[work->side]);
	history_entry_text(&run.entry.batch, batch);
	if (is_labelled(bench, work->side))
		xcheck(history_run_label(&run.entry, bench->arguments.label));
	xpush(&bench->runs, run);
	return bench_journal_add(bench, &bench->runs.items[bench->runs.count - 1]);
}

/* Of the kind of which there are fewest. */
static uint64_t runs_of_each(const struct bench *bench)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < bench->work_count; i++) {
		size_t n = bench_count(bench, bench->work[i].side, bench->work[i].is_recorded);
		least = n < least ? n : least;
	}
	return least;
}

static struct stop_rule rule_of(const struct bench_arguments *a)
{
	double precision = a->precision >= 0 ? a->precision : a->runs || a->time_s > 0 ? 0 : 0.01;

	return (struct stop_rule){a->runs, (uint64_t)(a->time_s * 1e9), precision};
}

/* One that a signal ended counts for nothing; what it says of itself is not told. */
static enum stop_reason end_early(struct bench *bench)
{
	if (bench_interrupted) {
		free(bench->fault);
		bench->fault = NULL;
	}
	return STOP_INTERRUPTED;
}

enum stop_reason bench_measure(struct bench *bench)
{
	const struct stop_rule rule = rule_of(&bench->arguments);
	enum stop_reason reason = STOP_GO_ON;

	warn_of_machine(bench);
	if (rule.runs && runs_of_each(bench) >= rule.runs) /* those of a journal are enough */
		return STOP_RUNS;
	if (!warm_up(bench))
		return end_early(bench);
	while (reason == STOP_GO_ON) {
		if (!make_run(bench) || bench_interrupted) {
			reason = end_early(bench);
			break;
		}
		uint64_t done = runs_of_each(bench);
		double half_width = bench->plan.at ? -1 : bench_half_width(bench);
		bool is_time = rule.time_ns && monotonic_ns() - bench->begin_ns >= rule.time_ns;
		if (!bench->plan.at)
			show_progress(bench, &rule, done, half_width);
		/* Not in the middle: then a side would have more runs than the other. */
		if (plan_is_even(&bench->plan) || (is_time && !bench->plan.at) ||
			(rule.runs && done >= rule.runs && !bench->plan.at))
			reason = stop_look(
				&rule, done, monotonic_ns() - bench->begin_ns, half_width);
	}
	end_progress(bench);
	return reason;
}
