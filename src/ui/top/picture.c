/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes each part of a picture at most once per phase. A part for which there is no memory is
 * empty, and text_error() tells.
 */
#include "ui/top/picture.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "base/clock_ns.h"
#include "brick/error.h"
#include "ui/text/text.h"
#include "analysis/machine/ceilings_file.h"

/*
 * A live process's statistics do not tell phases apart, and its samples are of the last moments. So
 * how often and how long in all a phase ran since the start is not known.
 */
static void forget_counts(struct summary_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rows[i].count = rows[i].total_ns = rows[i].self_ns = ANALYSIS_UNKNOWN;
}

static int picture_sum_up(struct picture *p, struct report *report, enum summary_by by)
{
	if (report->summary)
		return 0;
	report->run = p->run;
	int rc = text_fail(summary_create(&report->summary, p->run, by, p->phase));
	if (rc < 0)
		return rc;
	report->shown = report->summary->row_count;
	if (!p->live)
		return 0;
	/* The samples of a live run are a part of what the threads counted. */
	report->summary->mismatched = 0;
	report->summary->steps.ttft_ns = p->ttft_ns;
	if (p->phase == SUMMARY_ALL_PHASES || by == SUMMARY_BY_THREAD || by == SUMMARY_BY_LAYER)
		return 0;
	forget_counts(report->summary->rows, report->summary->row_count);
	forget_counts(report->summary->categories, report->summary->category_count);
	return 0;
}

/* Ceilings stay from picture to picture, because reading their file takes time. NULL: none are
 * kept. */
static const struct ceilings *kept_ceilings(const struct run *run)
{
	static struct ceilings *kept;
	static char *kept_path;
	struct ceilings_error why;
	SCOPED char *path = run->host && run->cpu ? ceilings_cache_path(run->host, run->cpu) : NULL;
	if (!path)
		return NULL;
	if (!kept_path || strcmp(kept_path, path)) {
		ceilings_destroy(kept);
		free(kept_path);
		kept = NULL;
		kept_path = text_copy(path);
		if (ceilings_read(&kept, path, &why) < 0)
			kept = NULL;
	}
	return kept;
}

static int picture_compute(struct picture *p)
{
	struct report *report = &p->report;
	int rc = picture_sum_up(p, report, SUMMARY_BY_BRICK);
	if (rc < 0)
		return rc;
	presence_of_run(&report->presence, p->run, &p->index);
	losses_of_run(&report->losses, p->run, report->summary->mismatched);
	if (p->live)
		report->losses.incomplete = false;
	distortion_estimate(&report->distortion, report->summary, p->phase);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		distortion_estimate(&report->phases[phase], report->summary, phase);
	const struct ceilings *ceilings = kept_ceilings(p->run);
	if (ceilings && !p->roofline)
		text_fail(roofline_create(&p->roofline, p->run, &p->index, ceilings));
	report->roofline = p->roofline;
	return 0;
}

/* Returns false if the run has no statistics. */
static bool count_exact(struct picture *p)
{
	const struct run *run = p->run;
	bool any = false;
	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t b = 0; run->lanes[l].stats && b < run->brick_count; b++) {
			const struct run_stat *stat = &run->lanes[l].stats[b];
			int id = run->bricks[b].well_known;
			p->executions += stat->count;
			any = true;
			int phase = step_phase_of_brick(id);
			if (phase < 0)
				continue;
			struct picture_steps *s = &p->exact[phase];
			s->count += stat->count;
			s->tokens += stat->elements;
			s->total_ns += stat->total_ns + stat->nested_ns;
		}
	return any;
}

/* Counts from the samples, for a recording or a part of one that has no statistics. */
static void count_samples(struct picture *p)
{
	const struct summary *summary = p->report.summary;
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		const struct step_phase_times *times = &summary->steps.phases[phase];
		p->exact[phase].count = times->count;
		p->exact[phase].tokens = times->tokens;
		p->exact[phase].total_ns = times->total_ns - times->after_ns;
	}
	p->executions = summary->samples;
}

/* The time after a step by its median, where it is known: one long pause must not move it. */
static uint64_t typical_after(const struct picture *p, int phase)
{
	const struct step_times *times = &p->report.summary->steps;
	const struct step_phase_times *t = &times->phases[phase];
	SCOPED uint64_t *values = calloc(p->run->step_count + 1, sizeof(*values));
	size_t n = 0;

	for (size_t i = 0; i < p->run->step_count && values; i++)
		if (step_index_is_evaluated(&p->index, p->run, i) &&
			(int)p->run->steps[i].phase == phase)
			values[n++] = times->steps[i].after_ns;
	if (!n)
		return t->count ? t->after_ns / t->count : 0;
	percentile_sort(values, n);
	return percentile_sorted(values, n, 50);
}

static void measure_after(struct picture *p)
{
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		const struct step_phase_times *times = &p->report.summary->steps.phases[phase];
		uint64_t span_ns = times->total_ns - times->after_ns;
		if (span_ns)
			p->exact[phase].after = (double)times->after_ns / (double)span_ns;
		p->exact[phase].after_ns = typical_after(p, phase);
		bool is_known = !p->run->has_statistics_only || !times->total_ns;
		p->exact[phase].at_once =
			times->union_ns ? (double)(times->total_ns - times->unevaluated_ns) /
						  (double)times->union_ns
					: is_known;
	}
}

double picture_tokens_per_s(const struct picture_steps *s)
{
	if (!s->tokens || !s->total_ns || !s->at_once)
		return -1;
	return (double)s->tokens * s->at_once * 1e9 / ((double)s->total_ns * (1 + s->after));
}

uint64_t picture_step_percentile(const struct picture *p, int phase, unsigned percent)
{
	const struct step_phase_times *times = &p->report.summary->steps.phases[phase];
	const struct picture_steps *exact = &p->exact[phase];
	const struct run *run = p->run;
	bool is_whole = !run->has_statistics_only && times->count == exact->count;
	for (uint32_t b = 0; p->live && !is_whole && run->histograms && b < run->brick_count; b++) {
		if (step_phase_of_brick(run->bricks[b].well_known) != phase || !run->histograms[b])
			continue;
		uint64_t ns = percentile_of_ticks(run->histograms[b], &run->clock, percent);
		return ns == ANALYSIS_UNKNOWN ? ns : ns + exact->after_ns;
	}
	return percent == 50 ? times->p50_ns : times->p99_ns;
}

static void picture_forget(struct picture *p)
{
	summary_destroy(p->report.summary);
	summary_destroy(p->threads.summary);
	summary_destroy(p->kernels.summary);
	heatmap_destroy(p->heat);
	call_tree_destroy(p->tree);
	if (p->path)
		path_destroy(p->path);
	roofline_destroy(p->roofline);
	memset(&p->report, 0, sizeof(p->report));
	memset(&p->threads, 0, sizeof(p->threads));
	memset(&p->kernels, 0, sizeof(p->kernels));
	p->heat = NULL;
	p->tree = NULL;
	p->path = NULL;
	p->roofline = NULL;
	p->tree_made = p->path_made = false;
}

void picture_destroy(struct picture *p)
{
	if (!p)
		return;
	picture_forget(p);
	requests_destroy(p->requests);
	step_index_fini(&p->index);
	run_destroy(p->run);
	free(p);
}

struct picture *picture_create(struct run *run, int phase, bool live, uint64_t ttft_ns)
{
	struct picture *p = text_room(1, sizeof(*p));
	if (!p) {
		run_destroy(run);
		return NULL;
	}
	p->run = run;
	/* statistics know no phases */
	p->phase = run->has_statistics_only ? SUMMARY_ALL_PHASES : phase;
	p->live = live;
	p->ttft_ns = ttft_ns;
	p->tree_step = RUN_NONE;
	p->taken_ns = monotonic_ns();
	if (text_fail(step_index_init(&p->index, run)) < 0 || picture_compute(p) < 0) {
		picture_destroy(p);
		return NULL;
	}
	if (!count_exact(p) || run->selected)
		count_samples(p);
	measure_after(p);
	return p;
}

int picture_phase_set(struct picture *p, int phase)
{
	if (phase == p->phase || p->run->has_statistics_only)
		return 0;
	picture_forget(p);
	p->phase = phase;
	return picture_compute(p);
}

static const struct summary no_summary;

const struct summary *picture_threads(struct picture *p)
{
	picture_sum_up(p, &p->threads, SUMMARY_BY_THREAD);
	return p->threads.summary ? p->threads.summary : &no_summary;
}

const struct summary *picture_kernels(struct picture *p)
{
	picture_sum_up(p, &p->kernels, SUMMARY_BY_KERNEL);
	return p->kernels.summary ? p->kernels.summary : &no_summary;
}

const struct heatmap *picture_heat(struct picture *p)
{
	static const struct heatmap none;
	if (!p->heat)
		text_fail(heatmap_create(&p->heat, p->run, &p->index, p->phase));
	return p->heat ? p->heat : &none;
}

static uint32_t last_step(const struct picture *p)
{
	for (size_t i = p->run->step_count; i-- > 0;)
		if (step_index_is_evaluated(&p->index, p->run, i) &&
			(p->phase == SUMMARY_ALL_PHASES || (int)p->run->steps[i].phase == p->phase))
			return (uint32_t)i;
	return RUN_NONE;
}

/* The thread that did most, for a run without steps. */
static uint32_t busiest_lane(const struct run *run)
{
	uint32_t best = RUN_NONE;
	for (uint32_t i = 0; i < run->lane_count; i++)
		if (run->lanes[i].sample_count &&
			(best == RUN_NONE ||
				run->lanes[i].sample_count > run->lanes[best].sample_count))
			best = i;
	return best;
}

const struct call_tree *picture_tree(struct picture *p)
{
	if (p->tree_made)
		return p->tree;
	p->tree_made = true;
	if (p->run->has_statistics_only)
		return NULL;
	p->tree_step = last_step(p);
	uint32_t lane = p->run->step_count ? RUN_NONE : busiest_lane(p->run);
	if (p->tree_step != RUN_NONE)
		text_fail(call_tree_of_step(&p->tree, p->run, &p->index, p->tree_step));
	else if (lane != RUN_NONE)
		text_fail(call_tree_of_lane(&p->tree, p->run, &p->index, lane));
	return p->tree;
}

const struct requests *picture_requests(struct picture *p)
{
	if (!p->requests_made && !p->run->selected) { /* in a part no request is whole */
		int rc = requests_create(&p->requests, p->run);
		p->requests_made = true;
		if (rc < 0) {
			p->requests = NULL;
			text_fail(rc == BRICK_ENOTRECORDED ? 0 : rc);
		}
	}
	return p->requests;
}

const struct path_section *picture_path(struct picture *p, const char **why)
{
	if (!p->path_made) {
		p->path_made = true;
		p->path_error = p->run->has_statistics_only
					? BRICK_ENOTRECORDED
					: path_create(&p->path, p->run, &p->index, RUN_NONE);
		if (p->path_error < 0 && p->path_error != BRICK_ENOTRECORDED)
			text_fail(p->path_error);
	}
	*why = p->run->has_statistics_only ? "the session keeps statistics only"
	       : p->run->step_count	   ? "no step has ended yet"
					   : "nothing was recorded yet";
	if (p->path_error < 0 || !p->path->section_count)
		return NULL;
	*why = "no step of this phase has ended yet";
	/* decoding is the phase that people wait for */
	int wanted = p->phase == SUMMARY_ALL_PHASES ? STEP_DECODE : p->phase;
	for (size_t i = 0; i < p->path->section_count; i++)
		if (p->path->sections[i].phase == wanted)
			return &p->path->sections[i];
	return p->phase == SUMMARY_ALL_PHASES ? &p->path->sections[0] : NULL;
}
