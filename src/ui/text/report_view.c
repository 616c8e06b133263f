/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a report, computed before the first is printed, and what all of its forms call
 * things.
 */
#include "ui/text/report_view.h"

#include "analysis/accounts/unknown.h"
#include "base/members.h"
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
	};
	char *text = NULL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(sources >> i & 1))
			continue;
		/* The host's clock is whichever the process found sound. */
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

static struct summary_row rest_row(const struct summary *summary, char *name, uint64_t ns)
{
	return (struct summary_row){.id = RUN_NONE,
		.name = name,
		.self_ns = ns,
		.wall_ns = ns,
		.share = (double)ns / (double)summary->wall_ns};
}

size_t report_rests(const struct report *report, struct summary_row rows[REPORT_RESTS])
{
	static char left_out[] = "left out", unattributed[] = "unattributed";
	const struct summary *summary = report->summary;
	size_t count = 0;
	if (!summary->wall_ns || summary->by >= SUMMARY_BY_KERNEL)
		return 0;
	if (summary->left_out_ns)
		rows[count++] = rest_row(summary, left_out, summary->left_out_ns);
	rows[count] = rest_row(summary, unattributed, summary->unattributed_ns);
	rows[count].unevaluated_ns = summary->unattributed_unevaluated_ns;
	rows[count++].share = 1 - summary->coverage;
	return count;
}

/* Tokens of the steps that the wall time is of; 0: not known. */
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

const char *report_phase_name(int phase)
{
	return step_phase_name(phase);
}

struct step_phase_times report_drafts(const struct report *report)
{
	struct step_phase_times sum = {0};
	for (int p = 0; p < STEP_PHASES; p++) {
		const struct step_phase_times *phase = &report->summary->steps.phases[p];
		members_add(&sum, phase, draft_tokens, checked, refuted, draft_steps, draft_ns);
	}
	return sum;
}

static double rate(uint64_t tokens, uint64_t ns)
{
	return tokens && ns && ns != ANALYSIS_UNKNOWN ? (double)tokens * 1e9 / (double)ns : -1;
}

double report_tokens_per_s(const struct step_phase_times *times)
{
	return rate(times->tokens, times->union_ns);
}

double report_wall_tokens_per_s(const struct step_phase_times *times)
{
	return rate(times->tokens, times->wall_ns);
}

int report_join(struct report *report, struct walk *walk, enum summary_by by, int phase)
{
	report->run = walk->run;
	presence_of_run(&report->presence, walk->run, walk->index);
	return summary_create_in(&report->summary, walk, by, phase);
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
