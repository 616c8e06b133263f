/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the numbers of a report in one pass over the samples, all of them before the first is
 * printed. Also has the names that all forms of a report share.
 */
#include "ui/text/report.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/walk/walk.h"
#include "ui/text/ceilings_view.h"
#include "ui/text/text.h"

char *report_sources(const struct report *report, uint32_t sources)
{
	static const char *const names[] = {
		[BRICK_SOURCE_UNKNOWN] = "unknown",
		[BRICK_SOURCE_SYNC_WALL] = "sync-wall",
		[BRICK_SOURCE_DEVICE_EVENT] = "device-event",
		[BRICK_SOURCE_DEVICE_ACTIVITY] = "device-activity",
		[BRICK_SOURCE_TIMESTAMP_QUERY] = "timestamp-query",
		[BRICK_SOURCE_REPORTED] = "reported",
		[BRICK_SOURCE_CALLBACK] = "callback",
		[BRICK_SOURCE_ESTIMATED] = "estimated",
	};
	char *text = NULL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(sources >> i & 1))
			continue;
		/* The process reads a host clock that it found sound, and the recording names it.
		 */
		const char *name = i == BRICK_SOURCE_TSC
					   ? brick_clock_source_name(report->run->clock.source)
					   : names[i];
		text_append(&text, "+", "%s", name);
	}
	return text;
}

const char *report_backend(const struct report *report, const struct summary_row *row)
{
	if (!row->on_device)
		return "cpu";
	return row->backend ? row->backend : run_note_find(report->run, "backend");
}

const struct run_lane *report_lane(const struct report *report, const struct summary_row *row)
{
	const struct summary *summary = report->summary;
	if (summary->by == SUMMARY_BY_THREAD)
		return &report->run->lanes[row->id];
	if (summary->by == SUMMARY_BY_QUEUE)
		return &report->run->lanes[summary->queues.queues[row->id].lane];
	return NULL;
}

bool report_has_steps(const struct report *report)
{
	bool any = report->run->step_count;

	for (int i = 0; i < STEP_PHASES && report->run->has_statistics_only; i++)
		any |= report->summary->steps.phases[i].count > 0;
	return any;
}

int report_only_phase(const struct report *report)
{
	const struct step_phase_times *phases = report->summary->steps.phases;
	int found = report->summary->only;

	if (found != SUMMARY_ALL_PHASES)
		return found;
	for (int p = 0, count = 0; p < STEP_PHASES; p++) {
		count += phases[p].count > 0;
		found = count > 1 ? -1 : phases[p].count ? p : found;
	}
	return found < 0 ? -1 : found;
}

const struct roofline_row *report_roof(const struct report *report, const struct summary_row *row)
{
	int phase = report_only_phase(report);

	if (!report->roofline || phase < 0 || report->summary->by != SUMMARY_BY_BRICK)
		return NULL;
	return roofline_find(report->roofline, row->id, (enum roofline_phase)phase, row->on_device);
}

size_t report_rests(const struct report *report, struct summary_row rows[REPORT_RESTS])
{
	const struct summary *summary = report->summary;
	const struct summary_rests *rests = &summary->row_rests;
	const struct {
		const char *name;
		uint64_t ns, unevaluated_ns;
		bool always;
	} all[REPORT_RESTS] = {
		{"preempted", rests->preempted_ns, rests->preempted_unevaluated_ns, false},
		{"blocked", rests->blocked_ns, rests->blocked_unevaluated_ns, false},
		{"left out", rests->left_out_ns, 0, false},
		{"unattributed", rests->unattributed_ns, rests->unattributed_unevaluated_ns, true},
	};
	size_t count = 0;

	bool is_whole = summary->by == SUMMARY_BY_STEP || summary->by == SUMMARY_BY_PHASE ||
			summary->by == SUMMARY_BY_MODEL;

	if (!summary->wall_ns || summary->by >= SUMMARY_BY_KERNEL)
		return 0;
	for (size_t i = 0; i < REPORT_RESTS; i++)
		if (all[i].ns || (all[i].always && !is_whole))
			rows[count++] = (struct summary_row){.id = RUN_NONE,
				.name = (char *)all[i].name,
				.self_ns = all[i].ns,
				.wall_ns = all[i].ns,
				.unevaluated_ns = all[i].unevaluated_ns,
				.device_ns = ANALYSIS_UNKNOWN,
				.device_step_ns = ANALYSIS_UNKNOWN,
				.share = (double)all[i].ns / (double)summary->wall_ns};
	return count;
}

/* Tokens of the phases that the wall time covers; 0: not known. */
static uint64_t report_tokens(const struct report *report)
{
	const struct step_phase_times *phases = report->summary->steps.phases;
	uint64_t tokens = 0;
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (report->summary->only == SUMMARY_ALL_PHASES || report->summary->only == phase)
			tokens += phases[phase].tokens;
	return tokens;
}

uint64_t report_row_tokens(const struct report *report, const struct summary_row *row)
{
	const struct summary *summary = report->summary;
	if (row->id != RUN_NONE && summary->by == SUMMARY_BY_STEP)
		return row->id < report->run->step_count ? report->run->steps[row->id].tokens : 0;
	if (row->id != RUN_NONE && summary->by == SUMMARY_BY_PHASE)
		return row->id < STEP_PHASES ? summary->steps.phases[row->id].tokens : 0;
	return report_tokens(report);
}

struct step_phase_times report_drafts(const struct report *report)
{
	struct step_phase_times sum = {0};
	for (int p = 0; p < STEP_PHASES; p++) {
		const struct step_phase_times *phase = &report->summary->steps.phases[p];
		sum.draft_tokens += phase->draft_tokens;
		sum.checked += phase->checked;
		sum.refuted += phase->refuted;
		sum.draft_steps += phase->draft_steps;
		sum.draft_ns += phase->draft_ns;
	}
	return sum;
}

static double report_rate(uint64_t tokens, uint64_t ns)
{
	return tokens && ns && ns != ANALYSIS_UNKNOWN ? (double)tokens * 1e9 / (double)ns : -1;
}

uint64_t report_running_ns(const struct step_phase_times *times)
{
	return times->union_ns ? times->union_ns : times->total_ns - times->unevaluated_ns;
}

double report_tokens_per_s(const struct step_phase_times *times)
{
	return report_rate(times->tokens, times->union_ns);
}

double report_wall_tokens_per_s(const struct step_phase_times *times)
{
	return report_rate(times->tokens, times->wall_ns);
}

int report_join(struct report *report, struct walk *walk, enum summary_by by, int phase)
{
	report->run = walk->run;
	presence_of_run(&report->presence, walk->run, walk->index);
	int failed = training_times_of_run(&report->training, walk->run, walk->index);
	if (failed)
		return failed;
	return summary_create_in(&report->summary, walk, by, phase);
}

void report_counters(struct counters *counters, const struct run *run)
{
	SCOPED_BY(step_index_fini) struct step_index index;

	memset(counters, 0, sizeof(*counters));
	if (text_fail(step_index_init(&index, run)) == 0)
		counters_measure(counters, run, &index);
}

void report_complete(struct report *report)
{
	struct summary *summary = report->summary;
	losses_of_run(&report->losses, report->run, summary->mismatched);
	distortion_estimate(&report->distortion, summary, summary->only);
	for (int each = 0; each < STEP_PHASES; each++)
		distortion_estimate(&report->phases[each], summary, each);
	report->shown = summary->row_count;
}

/*
 * Phases need no tables of their own if rows are by phase or step, or if only one phase ended. A
 * warm-up is apart from all others.
 */
static bool wants_apart(
	const struct run *run, const struct step_index *index, enum summary_by by, int phase)
{
	int phases = 0;
	for (int p = 0; p < STEP_PHASES; p++)
		phases += step_phase_ended(run, index, p);
	return phase == REPORT_PHASES_APART && by != SUMMARY_BY_PHASE && by != SUMMARY_BY_STEP &&
	       phases > 1;
}

static int report_join_phase(
	struct report_apart *apart, struct walk *walk, enum summary_by by, int phase, bool divided)
{
	int rc = report_join(
		&apart->all, walk, by, phase == REPORT_PHASES_APART ? SUMMARY_ALL_PHASES : phase);

	for (int p = 0; rc == 0 && divided && p < STEP_PHASES; p++)
		if (step_phase_ended(walk->run, walk->index, p)) {
			rc = report_join(&apart->phases[p], walk, by, p);
			if (rc == 0)
				summary_take(apart->all.summary, apart->phases[p].summary);
		}
	apart->ceilings = ceilings_kept(walk->run->host, walk->run->cpu, NULL);
	if (rc == 0 && apart->ceilings)
		rc = roofline_create_in(&apart->roofline, walk, apart->ceilings);
	return rc;
}

int report_apart_measure(
	struct report_apart *apart, const struct run *run, enum summary_by by, int phase)
{
	SCOPED_BY(step_index_fini) struct step_index index;
	struct walk walk;
	int rc = step_index_init(&index, run);
	bool divided = rc == 0 && wants_apart(run, &index, by, phase);

	memset(apart, 0, sizeof(*apart));
	walk_init(&walk, run, &index);
	if (rc == 0)
		rc = report_join_phase(apart, &walk, by, phase, divided);
	if (rc == 0)
		rc = walk_run(&walk);
	if (rc < 0)
		return rc;
	report_complete(&apart->all);
	apart->all.roofline = apart->roofline;
	apart->all.is_apart = divided;
	for (int p = 0; p < STEP_PHASES; p++) {
		if (!apart->phases[p].summary)
			continue;
		report_complete(&apart->phases[p]);
		apart->phases[p].roofline = apart->roofline;
		apart->all.apart[p] = &apart->phases[p];
	}
	return 0;
}

void report_apart_fini(struct report_apart *apart)
{
	summary_destroy(apart->all.summary);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		summary_destroy(apart->phases[phase].summary);
	roofline_destroy(apart->roofline);
	ceilings_destroy(apart->ceilings);
}
