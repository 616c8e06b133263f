/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says how far to trust a report: in one line below its rows, or in whole, with all facts about
 * coverage, devices, CPUs, distortion and losses, and the origin of the recording.
 */
#include "ui/text/report_trust.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/devices/hidden_waits.h"
#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "record/inject/attachers.h"
#include "ui/text/energy_view.h"
#include "ui/text/phase_text.h"
#include "ui/text/provenance.h"
#include "ui/text/report_presence.h"
#include "ui/text/text.h"
#include "ui/text/trust_text.h"

enum { LABEL = 13 }; /* the width of a label, in columns */

struct printer {
	const struct report *report;
	const struct terminal *terminal;
	bool is_alone; /* no rows stand above it */
};

/* Notes of the heading, beside the attachers' notes; all other notes stand at the end. */
static const struct attacher_note common_notes[] = {
	{"backend", "Backend"},
	{"attach", "Attached by"},
	{"steps", "Steps by"},
	{"layers", "Layers by"},
	{0},
};

static const struct attacher_note *report_trust_find(
	const struct attacher_note *notes, const char *key)
{
	for (; notes && notes->key; notes++)
		if (!strcmp(key, notes->key))
			return notes;
	return NULL;
}

/* NULL: it does not belong into the heading. */
static const struct attacher_note *report_trust_heading(const char *key)
{
	for (const struct attacher *const *a = attachers; *a; a++)
		if (report_trust_find((*a)->notes, key))
			return report_trust_find((*a)->notes, key);
	return report_trust_find(common_notes, key);
}

static void print_heading_notes(const struct report *report, const struct terminal *terminal,
	const struct attacher_note *notes)
{
	for (; notes && notes->key; notes++) {
		SCOPED const char **values =
			notes->label ? provenance_notes(report->run, notes->key) : NULL;
		for (size_t k = 0; values && values[k]; k++)
			paragraph(terminal, LABEL, k ? "" : notes->label, "%s", values[k]);
	}
}

/* Prints the notes of the heading, each with its label. */
static void report_headings(const struct report *report, const struct terminal *terminal)
{
	for (const struct attacher *const *a = attachers; *a; a++)
		print_heading_notes(report, terminal, (*a)->notes);
	print_heading_notes(report, terminal, common_notes);
}

/* True if an earlier note is equal, or the note says that all is well. */
static bool is_redundant(const struct run *run, size_t note)
{
	const struct run_note *here = &run->notes[note];
	if (!strcmp(here->key, "session.end") && !strcmp(here->value, "closed"))
		return true;
	if (!strcmp(here->key, "rules") && !strcmp(here->value, "default"))
		return true;
	for (size_t i = 0; i < note; i++)
		if (!strcmp(run->notes[i].key, here->key) &&
			!strcmp(run->notes[i].value, here->value))
			return true;
	return false;
}

const char *report_note_title(const char *key)
{
	const struct attacher_note *there = report_trust_heading(key);

	if (!strncmp(key, "capture.", 8) || !strcmp(key, "helper.cpu") ||
		!strcmp(key, "cuda.flush")) /* in the distortion */
		return NULL;
	return there ? there->label : key;
}

static void report_notes(const struct report *report, const struct terminal *terminal)
{
	const struct run *run = report->run;
	const char *label = "Notes";
	terminal_begin(terminal, STYLE_DIM);
	for (size_t i = 0; i < run->note_count; i++) {
		if (report_trust_heading(run->notes[i].key) || is_redundant(run, i) ||
			!report_note_title(run->notes[i].key))
			continue;
		paragraph(terminal, LABEL, label, "%s: %s", run->notes[i].key, run->notes[i].value);
		label = "";
	}
	terminal_end(terminal, STYLE_DIM);
}

static void report_trust_print_origin(const struct printer *p)
{
	const struct run *run = p->report->run;
	char took[UNITS_BYTES];
	SCOPED char *command = provenance_command(run), *start = provenance_start(run);
	SCOPED char *safe = text_safe(command ? command : "(not known)");
	const char *host = run->host ? run->host : "";
	uint64_t wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	/* A long command line says little in its third line. */
	size_t columns = p->terminal->width ? 2 * (p->terminal->width - LABEL) : 400;
	SCOPED char *cut = text_cut(safe, columns);
	if (start)
		start[10] = ' '; /* for people, without the T */
	SCOPED char *code =
		run->exit_code >= 0 ? text_format(", exit code %d", run->exit_code) : text_copy("");
	say(p, "Command", "%s", cut);
	say(p, "Recorded", "%.19s%s, for %s%s%s%s", start ? start : "at an unknown time",
		start ? " UTC" : "", units_time(took, wall_ns), *host ? ", on " : "", host, code);
}

static void report_trust_print_machine(const struct printer *p)
{
	const struct run *run = p->report->run;
	char residual[UNITS_BYTES];
	SCOPED char *cpu = text_copy(run->cpu ? run->cpu : "unknown CPU");
	if (run->cpu && run->isa)
		text_append(&cpu, " ", "(%s)", run->isa);
	if (run->cpus)
		text_append(&cpu, ", ", "%u CPU%s", run->cpus, plural_s(run->cpus));
	if (run_usable_cpus(run) < run->cpus)
		text_append(&cpu, ", ", "%u of them usable", run->usable_cpus);
	if (run->clock.residual_ns == UINT32_MAX)
		say(p, "Machine", "%s; how far its clock may be off is not known", cpu);
	else
		say(p, "Machine", "%s; clock %s, right within %s", cpu,
			brick_clock_source_name(run->clock.source),
			units_time(residual, run->clock.residual_ns ? run->clock.residual_ns : 1));
}

/* Waiting counts as covered, but is no work; the caller frees. */
static char *waits_text(const struct summary *summary)
{
	char share[UNITS_BYTES];
	double waits = 0;
	for (size_t i = 0; i < summary->row_count && summary->by == SUMMARY_BY_BRICK; i++)
		waits += summary->rows[i].waits ? summary->rows[i].share : 0;
	return waits > 0 ? text_format(", %s in those of waits", units_percent(share, waits))
			 : text_copy("");
}

static void report_trust_print_coverage(const struct printer *p)
{
	const struct summary *summary = p->report->summary;
	char share[UNITS_BYTES], wall[UNITS_BYTES], prefill[UNITS_BYTES], decode[UNITS_BYTES];
	if (!summary->wall_ns) {
		say(p, "Coverage", "unknown: %s",
			p->report->run->step_count ? "no step ended" : "nothing was recorded");
		return;
	}
	double phases[] = {summary_phase_coverage(summary, STEP_PREFILL),
		summary_phase_coverage(summary, STEP_DECODE)};
	SCOPED char *apart =
		phases[0] >= 0 && phases[1] >= 0
			? text_format(" (prefill %s, decode %s)", units_percent(prefill, phases[0]),
				  units_percent(decode, phases[1]))
			: text_copy("");
	const char *phase = step_phase_name(summary->only);
	SCOPED char *waits = waits_text(summary);
	say(p, "Coverage", "%s of %s of %s%s %s%s%s", units_percent(share, summary->coverage),
		units_time(wall, summary->wall_ns), phase_adjective(summary->only),
		p->report->run->step_count ? "steps" : "threads' time",
		summary->rests.left_out_ns || p->is_alone ? "lies in bricks"
							  : "is accounted for above",
		phase ? "" : apart, waits);
	if (summary->unknown_operations)
		say(p, "Unknown",
			"%llu executions of operations without a rule, under their own names",
			(unsigned long long)summary->unknown_operations);
	if (summary->executions != ANALYSIS_UNKNOWN && summary->executions > summary->samples)
		say(p, "Samples", "%llu of %llu are %s; %s", (unsigned long long)summary->samples,
			(unsigned long long)summary->executions,
			p->is_alone ? "here" : "in the file",
			phase || p->report->is_apart
				? "rows of phases are made of these alone (exact counts and times: "
				  "--phase all)"
				: "counts and times are exact, shares and rows by place are from "
				  "samples");
}

/* "copy from the device 15.8ms": as many as fit on a line; the caller frees. */
static char *causes_text(const struct report *report)
{
	enum { SHOWN = 4 };
	const struct wait_causes *causes = &report->summary->wait_causes;
	char *text = text_copy("");

	for (size_t i = 0; i < causes->count && i < SHOWN; i++) {
		const struct wait_cause *cause = &causes->list[i];
		const struct run_lane *queue =
			cause->lane == RUN_NONE ? NULL : &report->run->lanes[cause->lane];
		const char *name = cause->name ? cause->name : queue ? queue->name : NULL;
		char time[UNITS_BYTES];
		text_append(&text, ",", " for %s%s %s", cause->name || !queue ? "" : "queue ",
			!queue ? "what is not known"
			: name ? name
			       : "queue",
			units_time(time, cause->time_ns));
	}
	return text;
}

enum { HIDDEN_SHOWN = 4 };

/* Waits that nobody asked for: who needed a value, or memory, or a copy. */
static void report_trust_print_hidden(const struct printer *p)
{
	SCOPED_BY(hidden_waits_fini) struct hidden_waits waits;
	char time[UNITS_BYTES];
	char *text = NULL;

	text_fail(hidden_waits_init(&waits, p->report->run, &p->report->summary->gpus.spans));
	for (size_t i = 0; i < waits.count && i < HIDDEN_SHOWN; i++) {
		const struct hidden_wait *w = &waits.list[i];
		text_append(&text, "; ", "%s %llu times, %s, for %llu commands%s%s", w->asker,
			(unsigned long long)w->count, units_time(time, w->time_ns),
			(unsigned long long)w->commands, w->kernel ? ", at last " : "",
			w->kernel ? w->kernel : "");
	}
	if (text)
		say(p, "Hidden waits", "%s", text);
	free(text);
}

static void report_trust_print_estimates(const struct printer *p)
{
	const struct summary *summary = p->report->summary;
	char error[UNITS_BYTES];

	if (!summary->device_estimated)
		return;
	say(p, "Estimated",
		"times of %llu device commands are estimates, by other replays of their graphs, "
		"and times with them are marked ~; all commands together are right within %s, rows "
		"within DEVICE+-",
		(unsigned long long)summary->device_estimated,
		summary->device_error_ns == ANALYSIS_UNKNOWN
			? "an unknown time (too few replays were measured)"
			: units_time(error, summary->device_error_ns));
}

/* Prints how much of the devices' work has a name, and what threads waited for. */
static void report_trust_print_devices(const struct printer *p)
{
	const struct summary *summary = p->report->summary;
	char share[UNITS_BYTES], busy[UNITS_BYTES], waited[UNITS_BYTES], part[UNITS_BYTES];

	if (summary->device_ns)
		say(p, "Devices", "%s of %s of commands is of bricks",
			units_percent(share, summary_device_coverage(summary)),
			units_time(busy, summary->device_ns));
	report_trust_print_estimates(p);
	report_trust_print_hidden(p);
	if (!summary->device_wait_ns || !summary->wait_causes.count || !summary->wall_ns)
		return;
	SCOPED char *causes = causes_text(p->report);
	say(p, "Waited", "%s, %s of the wall time:%s", units_time(waited, summary->device_wait_ns),
		units_percent(part, (double)summary->device_wait_ns / (double)summary->wall_ns),
		causes);
}

/* Counters: means of the steps that have them. */

static char *counters_text(const struct counters *c, enum step_phase phase)
{
	char time[UNITS_BYTES], *text = NULL;

	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++)
		if (c->phases[phase][kind].steps) {
			const struct counters_sum *sum = &c->phases[phase][kind];
			double mean = counters_mean(c, phase, kind);
			char number[UNITS_BYTES], most[UNITS_BYTES];
			if (kind == BRICK_COUNTER_TASK_CLOCK)
				text_append(&text, ", ", "%s task-clock (%.2f CPUs busy)",
					units_time(number, number_of_double(mean + 0.5)),
					c->span_ns[phase] ? sum->sum / (double)c->span_ns[phase]
							  : 0);
			else if (mean >= 100000)
				text_append(&text, ", ", "%s %s",
					units_count(number, number_of_double(mean + 0.5)),
					counters_kind_name(kind));
			else
				text_append(&text, ", ", "%s %s (at most %s)",
					units_number(number, mean), counters_kind_name(kind),
					units_count(most, number_of_double(sum->most + 0.5)));
		}
	if (text && counters_ipc(c, phase) >= 0)
		text_append(&text, ", ", "%.2f instructions per cycle", counters_ipc(c, phase));
	if (text && counters_mean(c, phase, COUNTERS_READING) >= 0)
		text_append(&text, "; ", "reading them took %s a step, outside of its time",
			units_time(time,
				number_of_double(counters_mean(c, phase, COUNTERS_READING) + 0.5)));
	return text;
}

/* One line for each brick that was counted. */
static void print_counted_bricks(const struct run *run, const struct terminal *terminal)
{
	const char *title = "Counted";

	for (uint32_t b = 0; b < run->brick_count; b++) {
		struct counters_brick sum = counters_of_brick(run, b);
		char cycles[UNITS_BYTES], instructions[UNITS_BYTES], misses[UNITS_BYTES];
		char least[UNITS_BYTES], most[UNITS_BYTES];
		if (!sum.counted)
			continue;
		SCOPED char *rate = sum.cycles && sum.instructions
					    ? text_format("; %.2f instructions per cycle",
						      (double)sum.instructions / (double)sum.cycles)
					    : text_copy("");
		paragraph(terminal, LABEL, title,
			"%s: %s cycles (%s to %s each), %s instructions, %s cache-misses in "
			"%llu executions%s",
			run->bricks[b].name, units_count(cycles, sum.cycles),
			units_count(least, sum.cycles_min), units_count(most, sum.cycles_max),
			units_count(instructions, sum.instructions),
			units_count(misses, sum.cache_misses), (unsigned long long)sum.counted,
			rate);
		title = "";
	}
}

static void print_counters(const struct run *run, const struct terminal *terminal)
{
	static const char *const phases[] = {
		"a prefill step", "a decode step", "a mixed step", "a warm-up step", "a step"};
	const char *title = "Counters";
	struct counters counters;

	report_counters(&counters, run);
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		SCOPED char *text = counters_text(&counters, phase);
		if (!text)
			continue;
		paragraph(terminal, LABEL, title, "%s: %s", phases[phase], text);
		title = "";
	}
	print_counted_bricks(run, terminal);
}

static void add_delay(char **text, const char *what, const struct queue_delay *delay)
{
	char p50[UNITS_BYTES], p95[UNITS_BYTES];
	if (delay->p50_ns == ANALYSIS_UNKNOWN)
		return;
	text_append(text, "", "; %s p50 %s", what, units_time(p50, delay->p50_ns));
	if (delay->p95_ns != ANALYSIS_UNKNOWN)
		text_append(text, ", ", "p95 %s", units_time(p95, delay->p95_ns));
}

static void print_queues(const struct printer *p)
{
	enum { MOST = 8 };
	const struct queue_times *queues = &p->report->summary->queues;
	for (size_t i = 0; i < queues->count && i < MOST; i++)
		if (queues->queues[i].commands) {
			const struct queue_time *queue = &queues->queues[i];
			const struct run_lane *lane = &p->report->run->lanes[queue->lane];
			char busy[UNITS_BYTES], idle[UNITS_BYTES], wall[UNITS_BYTES],
				commands[UNITS_BYTES];
			const char *name = lane->name && *lane->name ? lane->name : "queue";
			const char *backend = lane->backend ? lane->backend : "";
			SCOPED char *sources = report_sources(p->report, queue->sources),
				    *delays = text_copy("");
			add_delay(&delays, "launch to start", &queue->launch);
			add_delay(&delays, "submission to start", &queue->submit);
			say(p, "Queue",
				"%s%s%s (%llu): busy %s, idle %s of %s; %s command%s%s; times from "
				"%s",
				backend, *backend ? ": " : "", name, (unsigned long long)lane->tid,
				units_time(busy, queue->busy_ns), units_time(idle, queue->idle_ns),
				units_time(wall, queue->wall_ns),
				units_count(commands, queue->commands), plural_s(queue->commands),
				delays, sources ? sources : "-");
		}
	if (queues->count > MOST)
		say(p, "", "%zu more: see --by queue", queues->count - MOST);
}

/* "0.32% (0.24% to 0.39%)"; the caller frees. */
static char *report_trust_interval(const struct distortion *d)
{
	if (distortion_is_hidden(d))
		return text_copy("not measurable on this busy machine");
	return text_format(
		"%.2f%% (%.2f%% to %.2f%%)", 100 * d->share, 100 * d->low, 100 * d->high);
}

static void print_distortion(const struct printer *p)
{
	const struct distortion *d = &p->report->distortion, *phases = p->report->phases;
	const struct step_phase_times *steps = p->report->summary->steps.phases;
	bool apart = p->report->summary->only == SUMMARY_ALL_PHASES && steps[STEP_PREFILL].count &&
		     steps[STEP_DECODE].count && phases[STEP_PREFILL].share >= 0 &&
		     phases[STEP_DECODE].share >= 0;
	SCOPED char *method = distortion_text(d);
	if (d->share < 0) {
		say(p, "Distortion", "unknown%s%s", method ? "; " : "", method ? method : "");
		return;
	}
	if (distortion_is_hidden(d)) {
		say(p, "Distortion",
			"not measurable on this busy machine: between %.2f%% and %.2f%%; %s",
			100 * d->low, 100 * d->high, method ? method : "");
		return;
	}
	SCOPED char *all = report_trust_interval(d),
		    *prefill = report_trust_interval(&phases[STEP_PREFILL]);
	SCOPED char *decode = report_trust_interval(&phases[STEP_DECODE]);
	const char *by = d->is_measured ? "Measured:" : "From";
	if (apart)
		say(p, "Distortion", "%s; prefill %s, decode %s. %s %s", all, prefill, decode, by,
			method ? method : "");
	else
		say(p, "Distortion", "%s. %s %s", all, by, method ? method : "");
}

static char *report_trust_losses_text(const struct losses *losses)
{
	char *text = text_copy(losses->incomplete ? "the recording was never finished" : NULL);
	char what[LOSS_BYTES];
	uint64_t count;

	for (size_t k = 0; losses_describe(losses, k, &count, what); k++)
		text_append(&text, "; ", "%llu %s", (unsigned long long)count, what);
	return text;
}

static void report_trust_print_losses(const struct printer *p)
{
	SCOPED char *text = report_trust_losses_text(&p->report->losses);
	terminal_begin(p->terminal, text ? STYLE_BAD : STYLE_PLAIN);
	say(p, "Losses", "%s",
		text			       ? text
		: p->report->run->off_cpu.lost ? "no records, but context switches: see Off CPU"
					       : "no records were lost");
	terminal_end(p->terminal, text ? STYLE_BAD : STYLE_PLAIN);
}

/* The line. */

struct verdict {
	char *facts, *limits; /* NULL: nothing limits it */
};

static void report_trust_add_fact(struct verdict *v, const char *limit, char *fact)
{
	text_append(&v->facts, ", ", "%s", fact);
	if (limit)
		text_append(&v->limits, " and ", "%s", limit);
	free(fact);
}

static void add_coverage(struct verdict *v, const struct summary *summary)
{
	char share[UNITS_BYTES];

	const char *attach = run_note_find(summary->run, "attach");
	if (summary->wall_ns && attach && !strncmp(attach, "graphs only", 11))
		report_trust_add_fact(v, "coverage",
			text_format("%s covered by whole graphs, in which no node was timed",
				units_percent(share, summary->coverage)));
	else if (summary->wall_ns && run_note_find(summary->run, "ggml.device"))
		report_trust_add_fact(v, "coverage",
			text_format("%s covered, on a device by whole graphs, in which no node was "
				    "timed",
				units_percent(share, summary->coverage)));
	else if (summary->wall_ns)
		report_trust_add_fact(v, summary->coverage < TRUST_MIN_COVERAGE ? "coverage" : NULL,
			text_format("%s covered", units_percent(share, summary->coverage)));
	else
		report_trust_add_fact(v, "coverage", text_copy("coverage unknown"));
}

static void add_distortion(struct verdict *v, const struct distortion *d)
{
	if (d->share < 0)
		report_trust_add_fact(v, NULL, text_copy("distortion unknown"));
	else if (distortion_is_hidden(d))
		report_trust_add_fact(
			v, NULL, text_copy("distortion not measurable on this busy machine"));
	else
		report_trust_add_fact(v, d->share > TRUST_MAX_DISTORTION ? "distortion" : NULL,
			text_format("%.1f%% distortion (%.1f to %.1f)", 100 * d->share,
				100 * d->low, 100 * d->high));
}

/*
 * Threads of an engine may spin while they wait for each other. If they share CPUs with other
 * programs, a delay of one thread makes all others spin, and the hooks' own time does not show it.
 */
static void add_spinning(struct verdict *v, const struct report *report)
{
	const struct run *run = report->run;
	uint32_t threads = 0;
	char share[UNITS_BYTES];

	if (!run_note_find(run, "attach") || report->presence.others <= TRUST_MAX_OTHERS ||
		report->distortion.share < 0 || distortion_is_hidden(&report->distortion) ||
		report->distortion.is_measured)
		return;
	for (size_t i = 0; i < run->lane_count; i++)
		threads += run->lanes[i].kind != BRICK_LANE_QUEUE && run->lanes[i].sample_count;
	if (threads > 1)
		report_trust_add_fact(v, "spinning waits",
			text_format("without CPU time that %u threads may spin for each other "
				    "while others use %s of the CPUs (record --measure-distortion "
				    "measures)",
				threads, units_percent(share, report->presence.others)));
}

static void report_trust_add_presence(struct verdict *v, const struct report *report)
{
	const struct presence *p = &report->presence;
	char share[UNITS_BYTES], known[UNITS_BYTES];

	if (!report->run->step_count)
		return;
	if (p->preempted < 0 && p->off < 0)
		report_trust_add_fact(v, NULL, text_copy("preemption unknown"));
	else if (p->preempted < 0)
		report_trust_add_fact(v, p->off > TRUST_MAX_PREEMPTED ? "time off the CPU" : NULL,
			text_format("%s off the CPU", units_percent(share, p->off)));
	else if (p->known < 1)
		report_trust_add_fact(v, p->preempted > TRUST_MAX_PREEMPTED ? "preemption" : NULL,
			text_format("%s preempted (known of %s of the time)",
				units_percent(share, p->preempted),
				units_percent(known, p->known)));
	else
		report_trust_add_fact(v, p->preempted > TRUST_MAX_PREEMPTED ? "preemption" : NULL,
			text_format("%s preempted", units_percent(share, p->preempted)));
	if (p->others > TRUST_MAX_OTHERS)
		report_trust_add_fact(v, "other processes",
			text_format("others used %s of the CPUs", units_percent(share, p->others)));
	if (report->run->machine.throttled_ns)
		report_trust_add_fact(v, "the CPU limit",
			text_format("held back for %s by the CPU limit",
				units_time(share, report->run->machine.throttled_ns)));
}

char *report_trust_line(const struct report *report, bool *is_limited)
{
	struct verdict v = {0};

	add_coverage(&v, report->summary);
	add_distortion(&v, &report->distortion);
	add_spinning(&v, report);
	const struct losses *losses = &report->losses;
	char *text = report_trust_losses_text(losses);
	report_trust_add_fact(
		&v, text ? "losses" : NULL, text ? text : text_copy("no records lost"));
	report_trust_add_presence(&v, report);
	if (report->summary->device_estimated)
		report_trust_add_fact(&v, NULL,
			text_format("times of %llu of %zu device commands estimated",
				(unsigned long long)report->summary->device_estimated,
				report->run->command_count));
	*is_limited = v.limits != NULL;
	char *line = v.limits ? text_format("limited by %s: %s", v.limits, v.facts)
			      : text_format("good: %s", v.facts);
	free(v.limits);
	free(v.facts);
	return line;
}

/* The whole texts. */

void report_origin_text(const struct report *report, const struct terminal *terminal)
{
	const struct printer p = {report, terminal, .is_alone = true};

	report_trust_print_origin(&p);
	report_trust_print_machine(&p);
	const char *selected = p.report->run->selected;
	if (selected && *selected)
		say(&p, "Only", "%s", selected);
	report_headings(report, terminal);
}

void report_trust_lines(const struct report *report, const struct terminal *terminal, bool is_alone)
{
	const struct printer p = {report, terminal, is_alone};

	report_trust_print_coverage(&p);
	report_trust_print_devices(&p);
	print_counters(report->run, terminal);
	print_queues(&p);
	report_presence_text(report->run, &report->presence, terminal, LABEL);
	SCOPED char *energy = energy_absent_text(report->run);
	if (energy)
		say(&p, "Energy", "%s", energy);
	print_distortion(&p);
	report_trust_print_losses(&p);
	report_notes(report, terminal);
}

void report_trust_text(const struct report *report, size_t width, FILE *out)
{
	const struct terminal terminal = {.out = out, .width = width};
	const struct printer p = {report, &terminal, .is_alone = true};

	report_trust_print_coverage(&p);
	report_trust_print_devices(&p);
	report_presence_text(report->run, &report->presence, &terminal, LABEL);
	print_distortion(&p);
	report_trust_print_losses(&p);
	report_headings(report, &terminal);
	report_notes(report, &terminal);
}
