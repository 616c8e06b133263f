/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as OpenMetrics text, for Prometheus: seconds, counters that only grow while a run is
 * read again, histograms with bounds at powers of two. docs/SERVE.md lists the names; they are
 * stable. Called by `brick serve`.
 */
#include "ui/serve/serve.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/durations.h"
#include "analysis/accounts/unknown.h"
#include "ui/serve/metrics_text.h"
#include "ui/text/exit_code.h"
#include "ui/text/die.h"
#include "ui/text/memory.h"
#include "ui/text/provenance.h"
#include "ui/text/report_view.h"

enum { BRICKS_MAX = 200 };

struct metrics {
	FILE *out;
	const struct run *run;
	const struct page *page;
	bool live; /* the run goes on: what has not ended yet is no loss */
};

static void put_run(struct metrics *m)
{
	const struct run *run = m->run;
	SCOPED char *command = provenance_command(run);
	metrics_family(m->out, "brick_run", "info", NULL, "The recording that is served.");
	fputs("brick_run_info{", m->out);
	metrics_label(m->out, "command", command);
	fputc(',', m->out);
	metrics_label(m->out, "host", run->host);
	fputc(',', m->out);
	metrics_label(m->out, "cpu", run->cpu);
	fputc(',', m->out);
	metrics_label(m->out, "backend", run_note_find(run, "backend"));
	fputs("} 1\n", m->out);
	metrics_family(m->out, "brick_run_complete", "gauge", NULL,
		"1 if the recording was finished without an error, else 0.");
	fprintf(m->out, "brick_run_complete %d\n", run->complete != 0);
	if (run->start_unix_ns) {
		metrics_family(m->out, "brick_run_start_seconds", "gauge", "seconds",
			"Unix time at which the recording started.");
		fprintf(m->out, "brick_run_start_seconds %.9f\n",
			metrics_seconds(run->start_unix_ns));
	}
}

/*
 * Steps of a phase as the threads counted them: in a session that is looked at, samples are of the
 * last moments only.
 */
static struct brick_stat counted(const struct run *run, int phase)
{
	struct brick_stat sum = {0};
	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t b = 0; run->lanes[l].stats && b < run->brick_count; b++) {
			const struct brick_stat *stat = &run->lanes[l].stats[b];
			if (step_phase_of_brick(run->bricks[b].well_known) != phase)
				continue;
			sum.count += stat->count;
			sum.total += stat->total + stat->nested;
			sum.elements += stat->elements;
		}
	return sum;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void put_tokens(struct metrics *m)
{
	const struct step_times *times = &m->page->report.summary->steps;
	metrics_family(
		m->out, "brick_tokens", "counter", NULL, "Tokens of the steps that have ended.");
	for (int phase = 0; phase < STEP_PHASES; phase++)
		fprintf(m->out, "brick_tokens_total{phase=\"%s\"} %llu\n", step_phase_name(phase),
			(unsigned long long)larger(
				times->phases[phase].tokens, counted(m->run, phase).elements));
	if (times->ttft_ns == ANALYSIS_UNKNOWN)
		return;
	metrics_family(m->out, "brick_first_token_seconds", "gauge", "seconds",
		"Time from the start of the first prefill to the first token.");
	fprintf(m->out, "brick_first_token_seconds %.9f\n", metrics_seconds(times->ttft_ns));
}

static void put_durations(struct metrics *m, const char *name, const char *labels,
	const struct metrics_bounds *bounds, uint32_t brick, uint64_t sum_ns)
{
	SCOPED uint64_t *buckets = xcalloc(BREAKDOWN_BUCKETS, sizeof(*buckets));
	uint64_t below[METRICS_BOUNDS_MAX] = {0}, count = 0;
	unsigned i = 0;
	breakdown_all_durations(m->page->breakdown, brick, buckets);
	for (uint32_t b = 0; b < BREAKDOWN_BUCKETS; b++) {
		for (; i < bounds->count && bounds->ns[i] < breakdown_edge_ns(b + 1); i++)
			below[i] = count;
		count += buckets[b];
	}
	for (; i < bounds->count; i++)
		below[i] = count;
	metrics_histogram(m->out, name, labels, bounds, below, count, sum_ns);
}

/* Exact time of sampling on the threads that run steps, where it comes after them. */
static uint64_t counted_sampling_ns(const struct run *run)
{
	uint64_t ns = 0;
	for (size_t l = 0; l < run->lane_count; l++) {
		const struct brick_stat *stats = run->lanes[l].stats;
		uint64_t steps = 0, sampling_ns = 0;
		for (size_t b = 0; stats && b < run->brick_count; b++) {
			int known = run->bricks[b].well_known;
			if (brick_is_step((uint32_t)known))
				steps += stats[b].count;
			else if (known == BRICK_SAMPLING)
				sampling_ns += stats[b].total;
		}
		ns += steps ? sampling_ns : 0;
	}
	return ns;
}

/*
 * All steps that the threads counted; 0: there is no histogram of them. It is of the steps alone;
 * the sum has all sampling in that of decoding, where nearly all of it belongs.
 */
static int put_counted_steps(
	struct metrics *m, int phase, const char *labels, const struct metrics_bounds *bounds)
{
	struct brick_stat sum = counted(m->run, phase);
	if (sum.count <= m->page->report.summary->steps.phases[phase].count)
		return 0;
	for (uint32_t b = 0; m->run->histograms && b < m->run->brick_count; b++) {
		if (step_phase_of_brick(m->run->bricks[b].well_known) != phase ||
			durations_count(m->run->histograms[b]) <=
				m->page->report.summary->steps.phases[phase].count)
			continue; /* it is of processes that have ended only */
		if (phase == STEP_DECODE)
			sum.total += counted_sampling_ns(m->run);
		put_durations(m, "brick_step_seconds", labels, bounds, b, sum.total);
		return 1;
	}
	return 0;
}

static void put_steps(struct metrics *m)
{
	const struct run *run = m->run;
	struct metrics_bounds bounds;
	metrics_bounds_fine(&bounds);
	metrics_family(m->out, "brick_step_seconds", "histogram", "seconds",
		"How long steps took, including the sampling after them.");
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		uint64_t below[METRICS_BOUNDS_MAX] = {0}, count = 0, sum_ns = 0;
		char labels[32];
		snprintf(labels, sizeof(labels), "phase=\"%s\"", step_phase_name(phase));
		if (put_counted_steps(m, phase, labels, &bounds))
			continue;
		for (uint32_t i = 0; i < run->step_count; i++) {
			uint64_t ns = step_time_total_ns(&m->page->times->steps[i]);
			if (!step_index_is_evaluated(&m->page->index, run, i) ||
				(int)run->steps[i].phase != phase)
				continue;
			count++;
			sum_ns += ns;
			for (unsigned k = bounds.count; k-- > 0 && ns <= bounds.ns[k];)
				below[k]++;
		}
		if (count)
			metrics_histogram(m->out, "brick_step_seconds", labels, &bounds, below,
				count, sum_ns);
	}
}

static size_t shown(const struct metrics *m)
{
	size_t count = m->page->report.summary->row_count;
	return count < BRICKS_MAX ? count : BRICKS_MAX;
}

/* Labels of a row, as text; the caller frees. */
static char *row_labels(const struct summary_row *row)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		die(CLI_SYSTEM, "out of memory");
	metrics_label(out, "brick", row->name);
	fputc(',', out);
	metrics_label(out, "category", row->category);
	if (fclose(out) != 0)
		die(CLI_SYSTEM, "out of memory");
	return text;
}

static void put_executions(struct metrics *m)
{
	struct metrics_bounds bounds;
	metrics_bounds_coarse(&bounds);
	metrics_family(m->out, "brick_execution_seconds", "histogram", "seconds",
		"How long single executions of each brick took, on all threads.");
	for (size_t i = 0; i < shown(m); i++) {
		const struct summary_row *row = &m->page->report.summary->rows[i];
		SCOPED char *labels = row_labels(row);
		put_durations(m, "brick_execution_seconds", labels, &bounds, row->id, row->sum_ns);
	}
}

static void put_rows(struct metrics *m, const char *name, const char *help, size_t offset)
{
	metrics_family(m->out, name, "counter", "seconds", help);
	for (size_t i = 0; i < shown(m); i++) {
		const struct summary_row *row = &m->page->report.summary->rows[i];
		SCOPED char *labels = row_labels(row);
		uint64_t ns;
		memcpy(&ns, (const char *)row + offset, sizeof(ns));
		fprintf(m->out, "%s_total{%s} %.9f\n", name, labels, metrics_seconds(ns));
	}
}

static const struct summary *phase_summary(const struct metrics *m, int phase)
{
	return m->page->phases[phase].summary;
}

/* A gauge of each brick and phase, from the samples that are there. */
static void put_by_phase(struct metrics *m, const char *name,
	double (*value)(const struct summary *summary, const struct summary_row *row))
{
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		const struct summary *summary = phase_summary(m, phase);
		for (size_t i = 0; summary && i < summary->row_count && i < BRICKS_MAX; i++) {
			SCOPED char *labels = row_labels(&summary->rows[i]);
			double number = value(summary, &summary->rows[i]);
			if (number >= 0)
				fprintf(m->out, "%s{phase=\"%s\",%s} %.9g\n", name,
					step_phase_name(phase), labels, number);
		}
	}
}

static double share_of(const struct summary *summary, const struct summary_row *row)
{
	return summary->wall_ns ? (double)row->wall_ns / (double)summary->wall_ns : -1;
}

static double seconds_a_token(const struct summary *summary, const struct summary_row *row)
{
	uint64_t tokens = summary->steps.phases[summary->only].tokens;
	return tokens ? metrics_seconds(row->wall_ns) / (double)tokens : -1;
}

static double executions(const struct summary *summary, const struct summary_row *row)
{
	return (double)row->count;
}

static double self_seconds(const struct summary *summary, const struct summary_row *row)
{
	return metrics_seconds(row->self_ns);
}

/* They only grow where all samples are there. */
static void put_phase_counters(struct metrics *m)
{
	metrics_family(m->out, "brick_phase_executions", "counter", NULL,
		"Executions of each brick in steps of one phase, on all threads.");
	put_by_phase(m, "brick_phase_executions_total", executions);
	metrics_family(m->out, "brick_phase_self_seconds", "counter", "seconds",
		"Time in each brick in steps of one phase, without the bricks inside of it, on all "
		"threads.");
	put_by_phase(m, "brick_phase_self_seconds_total", self_seconds);
}

static void put_phases(struct metrics *m)
{
	metrics_family(m->out, "brick_phase_share_ratio", "gauge", "ratio",
		"Share of each brick in the wall time of the steps of one phase.");
	put_by_phase(m, "brick_phase_share_ratio", share_of);
	metrics_family(m->out, "brick_token_seconds", "gauge", "seconds",
		"Wall time of each brick for one token of a phase.");
	put_by_phase(m, "brick_token_seconds", seconds_a_token);
}

static void put_ratio(struct metrics *m, const char *labels, const char *name, double value)
{
	if (value >= 0)
		fprintf(m->out, "%s%s %.9g\n", name, labels, value);
}

static void put_trust(struct metrics *m)
{
	const struct summary *summary = m->page->report.summary;
	const struct distortion *distortion = &m->page->report.distortion;
	metrics_family(m->out, "brick_coverage_ratio", "gauge", "ratio",
		"Share of the wall time of the steps that bricks account for.");
	put_ratio(m, "", "brick_coverage_ratio", summary->coverage);
	if (summary->device_ns) {
		metrics_family(m->out, "brick_device_coverage_ratio", "gauge", "ratio",
			"Share of the time of device commands that bricks account for.");
		put_ratio(m, "", "brick_device_coverage_ratio", summary_device_coverage(summary));
	}
	metrics_family(m->out, "brick_distortion_ratio", "gauge", "ratio",
		"Share of the wall time that recording itself cost.");
	put_ratio(m, "{bound=\"estimate\"}", "brick_distortion_ratio", distortion->share);
	if (distortion->share < 0)
		return;
	fprintf(m->out, "brick_distortion_ratio{bound=\"low\"} %.9g\n", distortion->low);
	fprintf(m->out, "brick_distortion_ratio{bound=\"high\"} %.9g\n", distortion->high);
}

static void put_losses(struct metrics *m)
{
	const struct losses *losses = &m->page->report.losses;
	const struct {
		const char *kind;
		uint64_t count;
	} kinds[] = {
		{"dropped", losses->dropped},
		{"open", m->live ? 0 : losses->open},
		{"unmatched", losses->unmatched},
		{"clamped", losses->clamped},
		{"unsupported", losses->unsupported},
		{"too_deep", losses->too_deep},
		{"table_full", losses->table_full},
		{"refused", losses->refused},
		{"bad_packets", losses->bad_packets},
		{"bad_records", losses->bad_records},
		{"lost_processes", losses->lost_processes},
		{"unfinished_processes", m->live ? 0 : losses->unfinished_processes},
	};
	/* A gauge: what is open, or unfinished, in a file that still grows may be whole later. */
	metrics_family(m->out, "brick_lost", "gauge", NULL,
		"Records and other things that the recording lacks, by kind.");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(m->out, "brick_lost{kind=\"%s\"} %llu\n", kinds[i].kind,
			(unsigned long long)kinds[i].count);
}

char *serve_metrics(const struct page *page, bool live)
{
	struct metrics m = {.run = page->run, .page = page, .live = live};
	char *text = NULL;
	size_t bytes = 0;
	m.out = open_memstream(&text, &bytes);
	if (!m.out)
		die(CLI_SYSTEM, "out of memory");
	put_run(&m);
	put_tokens(&m);
	put_steps(&m);
	put_executions(&m);
	put_rows(&m, "brick_self_seconds",
		"Time in each brick, without the bricks inside of it, on all threads.",
		offsetof(struct summary_row, self_ns));
	put_rows(&m, "brick_wall_seconds",
		"Time of each brick as part of the wall time of the steps.",
		offsetof(struct summary_row, wall_ns));
	put_phases(&m);
	if (!live)
		put_phase_counters(&m);
	put_trust(&m);
	put_losses(&m);
	if (fclose(m.out) != 0)
		die(CLI_SYSTEM, "out of memory");
	return text;
}
