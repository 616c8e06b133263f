/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `brick bench` says of its runs, and its exit code. Plain runs decide on the whole, at 2 %;
 * recorded ones say which brick it was, at 3 % for all of them together: so at most 5 of 100
 * answers see a difference where there is none.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/compare_effect.h"
#include "analysis/compare/history_parts.h"
#include "analysis/accounts/statistics.h"
#include "base/clock_ns.h"
#include "cli/cmd_bench.h"
#include "cli/history_runs.h"
#include "cli/die.h"
#include "cli/history_entry.h"
#include "cli/output.h"

enum { EXIT_NOT_KNOWN = 125 /* git bisect skips the commit */ };

static const double plain_alpha = 0.02, default_threshold = 0.01;

/* What recorded runs of two sides are compared in. */
struct recorded {
	struct compare_series *series;
	struct compare_names names;
	struct diff_origins origins;
	struct compare *compare;
	size_t count;
};

static size_t add_side(
	struct bench *bench, enum bench_side side, struct recorded *r, struct diff_origin *origins)
{
	size_t before = r->count;

	for (size_t i = 0; i < bench->runs.count; i++) {
		const struct bench_run *run = &bench->runs.items[i];
		if (run->side != side || !run->is_recorded || isnan(bench_measure_of(run)))
			continue;
		xcheck(history_parts_series(&r->series[r->count], &r->names, &run->entry,
			(enum summary_by)bench->arguments.by));
		diff_origin_of_history(&origins[r->count++], &run->entry);
	}
	return r->count - before;
}

/* NULL compare: a side has none. */
static void compare_recorded(struct bench *bench, enum bench_side a, enum bench_side b,
	double threshold, struct recorded *r)
{
	struct diff_origin *origins = xcalloc(bench->runs.count + 1, sizeof(*origins));

	memset(r, 0, sizeof(*r));
	r->series = xcalloc(bench->runs.count + 1, sizeof(*r->series));
	size_t in_a = add_side(bench, a, r, origins), in_b = add_side(bench, b, r, origins);
	diff_origins_init(&r->origins, origins, in_a, in_b);
	if (in_a && in_b)
		xcheck(compare_create(&r->compare, r->series, in_a, in_b, &r->names, threshold));
}

static void recorded_fini(struct recorded *r)
{
	compare_destroy(r->compare);
	diff_origins_fini(&r->origins);
	for (size_t i = 0; i < r->count; i++)
		compare_series_fini(&r->series[i]);
	free(r->series);
	compare_names_fini(&r->names);
}

/* Values of plain runs, so that more is worse. */
static size_t plain_values(const struct bench *bench, enum bench_side side, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < bench->runs.count; i++) {
		const struct bench_run *run = &bench->runs.items[i];
		if (run->side == side && !run->is_recorded && run->value > 0)
			out[n++] = bench->arguments.rate ? 1 / run->value : run->value;
	}
	return n;
}

static void one_side(struct compare_row *row, double *values, size_t n)
{
	struct statistics_shift shift;

	*row = (struct compare_row){.phase = -1, .effect = NAN, .p = NAN};
	for (size_t i = 0; i < n; i++)
		values[i] = log(values[i]);
	xcheck(statistics_shift_paired(&shift, values, n, 0.05));
	row->a = exp(shift.shift);
	row->b = NAN;
	row->low = exp(shift.low);
	row->high = exp(shift.high);
}

/* Whether there are any. */
static bool compare_plain(struct bench *bench, enum bench_side a, enum bench_side b,
	double threshold, struct compare_row *row)
{
	SCOPED double *values = xcalloc(2 * bench->runs.count + 1, sizeof(*values));
	double *other = values + bench->runs.count;
	size_t in_a = plain_values(bench, a, values), in_b = plain_values(bench, b, other);

	if (in_a && in_b)
		xcheck(compare_effects_values(
			row, values, in_a, other, in_b, threshold, plain_alpha));
	else if (in_a)
		one_side(row, values, in_a);
	return in_a > 0;
}

/* What the time of a token differs by between A and A again: the most of all phases. */
static double recorded_floor(struct bench *bench)
{
	SCOPED_BY(recorded_fini) struct recorded r;
	double most = 0;

	compare_recorded(bench, BENCH_A, BENCH_AGAIN, default_threshold, &r);
	for (size_t i = 0; r.compare && i < r.compare->row_count; i++) {
		const struct compare_row *row = &r.compare->rows[i];
		if (row->measure == COMPARE_TIME && isfinite(row->effect))
			most = fmax(most, fabs(row->effect));
	}
	return most;
}

static double plain_floor(struct bench *bench)
{
	struct compare_row row = {.effect = NAN};

	compare_plain(bench, BENCH_A, BENCH_AGAIN, default_threshold, &row);
	return isfinite(row.effect) ? fabs(row.effect) : 0;
}

/* Of recorded runs only: `brick diff` compares no others. */
static void keep_floor(struct bench *bench, double value)
{
	struct history_run entry;

	if (!(value > 0) || bench->arguments.no_history)
		return;
	history_entry_here(&entry, "floor", "bench --floor");
	entry.value = value;
	history_runs_keep(bench->arguments.db, &entry);
	history_run_fini(&entry);
}

/* The verdict never rests on recorded runs alone: plain ones must at least lean the same way. */
static enum compare_verdict verdict_of(struct bench_view *view)
{
	const struct compare_row *plain = view->plain_row;
	enum compare_verdict recorded = view->diff ? view->diff->compare->verdict : COMPARE_UNSURE;

	if (!plain || isnan(plain->effect))
		return recorded;
	if (!view->diff || plain->verdict == COMPARE_SLOWER || plain->verdict == COMPARE_FASTER)
		return plain->verdict;
	if ((recorded == COMPARE_SLOWER && plain->effect <= 0) ||
		(recorded == COMPARE_FASTER && plain->effect >= 0)) {
		view->contradicts = true;
		return COMPARE_UNSURE;
	}
	if (recorded == COMPARE_SLOWER || recorded == COMPARE_FASTER)
		return recorded;
	return recorded == plain->verdict ? recorded : COMPARE_UNSURE;
}

/* Of the recorded runs of a side the one whose token takes longer than that of half of them. */
static const struct history_run *typical_of(const struct bench *bench, enum bench_side side)
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

static void fill_view(struct bench *bench, enum stop_reason reason, struct bench_view *view)
{
	const struct bench_arguments *a = &bench->arguments;
	const struct stop_rule rule = {.precision = a->precision >= 0 ? a->precision : 0.01};

	for (int side = 0; side < 2; side++) {
		view->plain[side] = bench_count(bench, (enum bench_side)side, false);
		view->recorded[side] = bench_count(bench, (enum bench_side)side, true);
	}
	for (size_t i = 0; i < bench->runs.count; i++)
		if (bench->runs.items[i].side < 2)
			view->commands[bench->runs.items[i].side] =
				bench->runs.items[i].entry.command;
	view->batch = bench->batch;
	view->is_kept = bench->all_kept;
	view->reason = stop_reason_name(reason);
	view->fault = bench->fault;
	view->measure = a->value || a->rate ? "what it printed" : "wall time";
	view->is_rate = a->rate != NULL;
	view->elapsed_s = (double)(monotonic_ns() - bench->begin_ns) / 1e9;
	view->precision = rule.precision;
	view->half_width = bench_half_width(bench);
	view->forecast = stop_forecast(&rule,
		view->plain[0] > view->recorded[0] ? view->plain[0] : view->recorded[0],
		view->half_width);
	view->machine = bench->machine;
}

static void print(const struct bench *bench, const struct bench_view *view)
{
	if (bench->arguments.markdown) {
		struct output *output = output_open(bench->arguments.markdown, NULL);
		bench_markdown(view, output_stream(output));
		output_commit(output, 0);
	}
	(bench->arguments.json ? bench_json : bench_text)(view, stdout);
}

static int exit_code(const struct bench *bench, const struct bench_view *view)
{
	bool is_known = !view->commands[0] || !view->commands[1] || view->verdict != COMPARE_UNSURE;

	if (bench->fault)
		return EXIT_NOT_KNOWN;
	if (view->verdict == COMPARE_SLOWER)
		return CLI_GATE;
	return bench->arguments.bisect && !is_known ? EXIT_NOT_KNOWN : CLI_DONE;
}

int bench_answer(struct bench *bench, enum stop_reason reason)
{
	struct bench_view view = {0};
	struct compare_row plain;
	struct recorded r;

	if (bench->fault)
		warn("bench: %s", bench->fault);
	if (!bench->runs.count)
		return EXIT_NOT_KNOWN;
	fill_view(bench, reason, &view);
	view.floor = recorded_floor(bench);
	view.plain_floor = plain_floor(bench);
	keep_floor(bench, view.floor);
	double said = bench->arguments.threshold;
	double least = said >= 0 ? said : default_threshold;
	view.threshold = fmax(least, view.plain_floor);
	compare_recorded(bench, BENCH_A, BENCH_B, fmax(least, view.floor), &r);
	const struct diff_view diff = {
		r.compare, &r.origins, (enum summary_by)bench->arguments.by, 15, false, view.floor};
	view.diff = r.compare && r.compare->row_count ? &diff : NULL;
	if (compare_plain(bench, BENCH_A, BENCH_B, view.threshold, &plain))
		view.plain_row = &plain;
	view.typical = typical_of(bench, BENCH_A);
	view.verdict = verdict_of(&view);
	print(bench, &view);
	int code = exit_code(bench, &view);
	recorded_fini(&r);
	return code;
}
