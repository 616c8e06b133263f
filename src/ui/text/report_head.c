/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines above the rows. The first names the program: engine, model, settings and machine, as
 * far as the recording knows them. Then there is one line for each phase, and one for the first
 * token.
 */
#include "ui/text/report_head.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/ranks/message_pairs.h"
#include "analysis/ranks/rank_job.h"
#include "analysis/ranks/remote_calls.h"
#include "analysis/accounts/load_times.h"
#include "analysis/accounts/workload.h"
#include "trace/owners.h"
#include "ui/text/exemplar_text.h"
#include "ui/text/energy_view.h"
#include "ui/text/gpu_text.h"
#include "ui/text/marks.h"
#include "ui/text/memory_view.h"
#include "ui/text/phase_text.h"
#include "ui/text/placed_view.h"
#include "ui/text/provenance.h"
#include "ui/text/ranks_view.h"
#include "ui/text/remote_view.h"
#include "ui/text/text.h"
#include "ui/text/users_text.h"

static unsigned long long report_head_ull(uint64_t value)
{
	return value;
}

/* "demo (llama F16, 7 layers, 33.0MB)". A size without a name in the engine is left out. */
static char *model_text(const struct workload *w)
{
	char bytes[UNITS_BYTES];
	SCOPED char *about = NULL;
	char type[WORKLOAD_TEXT];
	const char *unknown = strstr(w->type, " ?B");

	snprintf(type, sizeof(type), "%.*s%s", unknown ? (int)(unknown - w->type) : WORKLOAD_TEXT,
		w->type, unknown ? unknown + 3 : "");
	if (*type && *w->model)
		text_append(&about, ", ", "%s", type);
	if (w->layers)
		text_append(&about, ", ", "%llu layer%s", report_head_ull(w->layers),
			plural_s(w->layers));
	if (w->bytes)
		text_append(&about, ", ", "%s", units_bytes(bytes, w->bytes));
	if (w->models > 1)
		text_append(&about, "; ", "one of %llu models", report_head_ull(w->models));
	const char *name = *w->model ? w->model : *type ? type : about ? "model" : NULL;
	return name ? text_format("%s%s%s%s", name, about ? " (" : "", about ? about : "",
			      about ? ")" : "")
		    : NULL;
}

/* True if ggml's backend "CUDA0" runs on a device such as "0 NVIDIA H100". */
static bool is_device_of(const char *backend, const char *device)
{
	size_t digits = strspn(device, "0123456789");

	return digits && device[digits] == ' ' && !strncmp(backend, "CUDA", 4) &&
	       !strncmp(backend + 4, device, digits) && !backend[4 + digits];
}

/* Adds the backends by the engines' names, each with its device, or the devices alone. */
static void report_head_add_backends(char **text, const struct run *run)
{
	SCOPED const char **backends = provenance_notes(run, "backend");
	SCOPED const char **devices = provenance_notes(run, "cuda.device");
	bool any = backends && backends[0];

	for (size_t i = 0; any && backends[i]; i++) {
		text_append(text, " and ", "%s", backends[i]);
		for (size_t k = 0; devices && devices[k]; k++)
			if (is_device_of(backends[i], devices[k]))
				text_append(text, " ", "(%s)", strchr(devices[k], ' ') + 1);
	}
	for (size_t k = 0; !any && devices && devices[k]; k++)
		text_append(text, " and ", "%s",
			strchr(devices[k], ' ') ? strchr(devices[k], ' ') + 1 : devices[k]);
}

/* The different numbers of GPUs that queues have. */
static size_t report_head_gpus(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		bool is_new = lane->kind == BRICK_LANE_QUEUE && lane->gpu;
		for (size_t k = 0; k < i && is_new; k++)
			is_new = run->lanes[k].gpu != lane->gpu;
		count += is_new;
	}
	return count;
}

static char *machine_text(const struct run *run)
{
	char *text = NULL;

	report_head_add_backends(&text, run);
	/* where no engine names its backends: those of the devices' queues */
	bool has_named = text;
	for (size_t i = 0; i < run->lane_count && !has_named; i++) {
		const char *name = run->lanes[i].backend;
		bool is_new = run->lanes[i].kind == BRICK_LANE_QUEUE && name && *name &&
			      strcmp(name, BRICK_HOST_BACKEND) != 0;
		for (size_t k = 0; k < i && is_new; k++)
			is_new = !run->lanes[k].backend || strcmp(run->lanes[k].backend, name) != 0;
		/* of devices that another tool's file does not name, the number is known */
		size_t gpus = is_new && !strcmp(name, "gpu") ? report_head_gpus(run) : 0;
		if (gpus)
			text_append(&text, " and ", "%zu GPU%s", gpus, plural_s(gpus));
		else if (is_new)
			text_append(&text, " and ", "%s", name);
	}
	if (run->cpu || !text || !run_note_find(run, "imported"))
		text_append(&text, " on ", "%s", run->cpu ? run->cpu : "an unknown CPU");
	if (run->cpu && run->isa)
		text_append(&text, " ", "(%s)", run->isa);
	if (run->cpus)
		text_append(&text, ", ", "%u CPU%s", run->cpus, plural_s(run->cpus));
	if (run_usable_cpus(run) < run->cpus)
		text_append(&text, " ", "(%u of them usable)", run->usable_cpus);
	return text;
}

static char *what_ran(const struct run *run, const struct workload *w)
{
	char *text = provenance_engine(run);
	SCOPED char *model = model_text(w), *machine = machine_text(run);

	if (model)
		text_append(&text, ", ", "%s", model);
	/* without a number from the engine, the threads that recorded are counted */
	uint64_t threads = w->threads ? w->threads : run_thread_count(run);
	if (threads) {
		text_append(
			&text, ", ", "%llu thread%s", report_head_ull(threads), plural_s(threads));
		if (w->batch_threads && w->batch_threads != w->threads)
			text_append(&text, " ", "(%llu for batches)",
				report_head_ull(w->batch_threads));
	}
	if (w->context)
		text_append(&text, ", ", "context %llu", report_head_ull(w->context));
	if (w->batch)
		text_append(&text, ", ", "batch %llu", report_head_ull(w->batch));
	if (w->ubatch && w->ubatch != w->batch)
		text_append(&text, " ", "(ubatch %llu)", report_head_ull(w->ubatch));
	if (w->sequences > 1)
		text_append(&text, ", ", "%llu sequences", report_head_ull(w->sequences));
	text_append(&text, ", ", "%s", machine);
	return text;
}

/* The rate while steps ran, and over all wall time where there are gaps between them. */
static char *rates_text(const struct step_phase_times *times)
{
	char running[UNITS_BYTES], wall[UNITS_BYTES];

	units_number(running, report_tokens_per_s(times));
	units_number(wall, report_wall_tokens_per_s(times));
	if (report_wall_tokens_per_s(times) < 0 || !strcmp(running, wall))
		return text_format("%s tokens/s", running);
	return text_format("%s tokens/s (%s with the time between steps)", running, wall);
}

/*
 * "63 steps, 115ms; a step: mean 1.83ms, p50 1.80ms, p95 2.07ms". The tokens over that time are the
 * rate. A single step has one time.
 */
static void report_head_add_steps(char **text, const struct step_phase_times *times, bool whole)
{
	char total[UNITS_BYTES], unevaluated[UNITS_BYTES], each[UNITS_BYTES], sum[UNITS_BYTES];
	uint64_t sum_ns = times->total_ns - times->unevaluated_ns;
	const struct {
		const char *name;
		uint64_t ns;
	} of_steps[] = {{"mean", step_mean_ns(times)}, {"p50", times->p50_ns},
		{"p95", times->p95_ns}, {"p99", whole ? times->p99_ns : ANALYSIS_UNKNOWN}};
	const char *between = "; a step: ";

	text_append(
		text, " in ", "%llu step%s", report_head_ull(times->count), plural_s(times->count));
	if (times->dropped)
		text_append(text, " ", "(%llu more were dropped)", report_head_ull(times->dropped));
	if (times->refused)
		text_append(text, " ", "and %llu that the engine refused",
			report_head_ull(times->refused));
	if (times->aborted)
		text_append(text, " ",
			"and %llu that ended halfway, with an unknown number of tokens",
			report_head_ull(times->aborted));
	text_append(text, ", ", "%s", units_time(total, report_running_ns(times)));
	if (strcmp(total, units_time(sum, sum_ns)))
		text_append(text, " ", "(some at the same time: %s in all)", sum);
	if (times->unevaluated_ns)
		text_append(text, " ", "(and %s for the latter, in no rate)",
			units_time(unevaluated, times->unevaluated_ns));
	for (size_t i = 0; i < 4 && times->count > 1; i++) {
		if (of_steps[i].ns == ANALYSIS_UNKNOWN)
			continue;
		text_append(
			text, between, "%s %s", of_steps[i].name, units_time(each, of_steps[i].ns));
		between = ", ";
	}
}

static void report_head_add(struct report_head *head, const char *label, char *text)
{
	if (head->count < REPORT_HEAD_LINES)
		head->lines[head->count++] = (struct report_head_line){label, text};
	else
		free(text);
}

static void report_head_add_phase(
	struct report_head *head, const struct report *report, enum step_phase phase, bool whole)
{
	const struct step_phase_times *times = &report->summary->steps.phases[phase];
	char *text;

	if (!times->count && !times->refused && !times->aborted)
		return;
	bool is_unknown = (times->count || phase == STEP_OTHER) && !times->tokens;
	text = phase == STEP_WARM_UP ? text_copy("in no rate")
	       : is_unknown	     ? NULL
				     : rates_text(times);
	char tokens[UNITS_BYTES];
	if (!is_unknown)
		text_append(&text, ": ", "%s token%s", units_count(tokens, times->tokens),
			plural_s(times->tokens));
	if (phase == STEP_MIXED)
		text_append(&text, " ", "(%llu of prompts, %llu of outputs)",
			report_head_ull(times->tokens - times->output_tokens),
			report_head_ull(times->output_tokens));
	if (times->draft_tokens > times->refuted)
		text_append(&text, " ", "(a draft model evaluated %llu more)",
			report_head_ull(times->draft_tokens - times->refuted));
	if (times->refuted)
		text_append(&text, " ", "(%llu more were rejected drafts)",
			report_head_ull(times->refuted));
	report_head_add_steps(&text, times, whole);
	report_head_add(head, phase_title(phase), text);
}

static double report_head_share_of(const uint64_t ns[TRAINING_PHASES], int phase, double total_ns)
{
	return (double)ns[phase] / total_ns;
}

/* Adds the devices' times of training. The threads' times then only tell how long launching took.
 */
static void add_training_device(char **text, const uint64_t ns[TRAINING_PHASES])
{
	char total[UNITS_BYTES], forward[UNITS_BYTES], backward[UNITS_BYTES],
		optimizer[UNITS_BYTES];
	uint64_t total_ns = ns[TRAINING_FORWARD] + ns[TRAINING_BACKWARD] + ns[TRAINING_OPTIMIZER];

	if (total_ns)
		text_append(text, "; ", "of %s on devices %s, %s, %s", units_time(total, total_ns),
			units_percent(forward,
				report_head_share_of(ns, TRAINING_FORWARD, (double)total_ns)),
			units_percent(backward,
				report_head_share_of(ns, TRAINING_BACKWARD, (double)total_ns)),
			units_percent(optimizer,
				report_head_share_of(ns, TRAINING_OPTIMIZER, (double)total_ns)));
}

/* Adds the phases of steps that train; between two phases is the rest of their time. */
static void add_training(struct report_head *head, const struct report *report)
{
	const struct training_times *times = &report->training;
	char tokens[UNITS_BYTES], forward[UNITS_BYTES], backward[UNITS_BYTES],
		optimizer[UNITS_BYTES];
	double total_ns = (double)times->total_ns;

	if (!times->count || !times->total_ns)
		return;
	/* other tools' files tell optimizers alone */
	if (!times->phase_ns[TRAINING_FORWARD] && !times->phase_ns[TRAINING_BACKWARD] &&
		run_note_find(report->run, "imported"))
		return;
	char *text =
		text_format("%llu step%s", report_head_ull(times->count), plural_s(times->count));
	if (times->tokens)
		text_append(&text, ", ", "%s token%s", units_count(tokens, times->tokens),
			plural_s(times->tokens));
	text_append(&text, ": ", "forward %s, backward %s, optimizer %s",
		units_percent(
			forward, report_head_share_of(times->phase_ns, TRAINING_FORWARD, total_ns)),
		units_percent(backward,
			report_head_share_of(times->phase_ns, TRAINING_BACKWARD, total_ns)),
		units_percent(optimizer,
			report_head_share_of(times->phase_ns, TRAINING_OPTIMIZER, total_ns)));
	if (times->recomputed_ns)
		text_append(&text, " ", "(backward recomputed forward passes for %s)",
			units_percent(backward, (double)times->recomputed_ns / total_ns));
	if (times->clipping_ns)
		text_append(&text, ", ", "clipping %s",
			units_percent(forward, (double)times->clipping_ns / total_ns));
	add_training_device(&text, times->device_ns);
	report_head_add(head, "Training", text);
}

static void add_ranks(struct report_head *head, const struct run *run)
{
	SCOPED_BY(rank_job_fini) struct rank_job job;

	if (text_fail(rank_job_of_run(&job, run)))
		return;
	char *text = ranks_sentence(&job);
	if (text)
		report_head_add(head, "Ranks", text);
	else if (job.count == 1)
		report_head_add(head, "Rank", ranks_place(&job));
}

/* Messages between ranks, and what receivers waited for. */
static void add_messages(struct report_head *head, const struct run *run)
{
	SCOPED_BY(message_pairs_fini) struct message_pairs pairs = {0};
	char bytes[UNITS_BYTES], waited[UNITS_BYTES], transfer[UNITS_BYTES];

	if (!run->message_count || text_fail(message_pairs_init(&pairs, run)))
		return;
	uint64_t alone = pairs.sent_alone + pairs.received_alone;
	if (!pairs.count && !alone)
		return;
	char *text = text_format(
		"%llu with %s", report_head_ull(pairs.count), units_bytes(bytes, pairs.bytes));
	if (pairs.count)
		text_append(&text, ": ", "receivers waited %s for senders and %s for transfers",
			units_time(waited, pairs.waited_ns),
			units_time(transfer, pairs.transfer_ns));
	if (alone)
		text_append(&text, "; ",
			"of %llu more sent and %llu received the other end is not known",
			report_head_ull(pairs.sent_alone), report_head_ull(pairs.received_alone));
	report_head_add(head, "Messages", text);
}

static void add_remote_calls(struct report_head *head, const struct run *run)
{
	SCOPED_BY(remote_calls_fini) struct remote_calls calls = {0};

	if (run->message_count && !text_fail(remote_calls_init(&calls, run)) && calls.count)
		report_head_add(head, "Remote", remote_sentence(&calls));
}

/* Speculative decoding. */
static void add_drafts(struct report_head *head, const struct report *report)
{
	const struct step_phase_times drafts = report_drafts(report);
	char share[UNITS_BYTES], total[UNITS_BYTES];
	char *text;

	if (!drafts.checked)
		return;
	uint64_t held = drafts.checked - drafts.refuted;
	text = text_format("%llu checked, %llu held (%s)", report_head_ull(drafts.checked),
		report_head_ull(held), units_percent(share, (double)held / (double)drafts.checked));
	if (drafts.draft_steps)
		text_append(&text, "; ", "draft models took %s, in %llu steps",
			units_time(total, drafts.draft_ns), report_head_ull(drafts.draft_steps));
	report_head_add(head, "Drafts", text);
}

/* ": the model was opened in 12.0ms, mapped in 3.00ms, read in 40.0ms; ..."; or "". */
static char *report_head_loading(const struct run *run)
{
	static const char *const words[LOAD_PHASES] = {
		"opened in", "mapped in", "read in", "locked in memory in", "warm-up took"};
	enum { FEW_FAULTS = 1000 };
	struct load_times times;
	char *text = NULL;
	char number[UNITS_BYTES];

	text_fail(load_times_of_run(&times, run));
	for (int phase = 0; phase < LOAD_PHASES && times.is_known; phase++) {
		const struct load_counts *counts = &times.counts[phase];
		uint64_t faults = counts->minor + counts->major;
		if (times.ns[phase])
			text_append(&text, ", ", "%s %s", words[phase],
				units_time(number, times.ns[phase]));
		if (times.ns[phase] && faults >= FEW_FAULTS)
			text_append(&text, " ", "(%s page faults, %llu of them from a disk)",
				units_count(number, faults), report_head_ull(counts->major));
	}
	if (text && times.disk_bytes)
		text_append(&text, ", ", "%s came from disks until the end of the first step",
			units_bytes(number, times.disk_bytes));
	char *whole = text ? text_format(": its model was %s", text) : text_copy("");
	free(text);
	return whole;
}

static void add_beginning(
	struct report_head *head, const struct report *report, const struct workload *w)
{
	uint64_t ttft_ns = report->summary->steps.ttft_ns;
	char first[UNITS_BYTES], start[UNITS_BYTES];

	units_time(first, ttft_ns);
	units_time(start, w->start_up_ns);
	SCOPED char *loading = report_head_loading(report->run);
	if (ttft_ns != ANALYSIS_UNKNOWN && w->start_up_ns != ANALYSIS_UNKNOWN)
		report_head_add(head, "First token",
			text_format("after %s, from the start of the first prefill; start-up took "
				    "%s before it%s",
				first, start, loading));
	else if (ttft_ns != ANALYSIS_UNKNOWN)
		report_head_add(head, "First token",
			text_format("after %s, from the start of the first prefill", first));
	else if (w->start_up_ns != ANALYSIS_UNKNOWN)
		report_head_add(head, "Start-up",
			text_format(
				"%s from the program's start to its first step%s", start, loading));
}

enum { GPUS_SHOWN = 2, GPUS_WHOLE = 16 }; /* so many have lines of their own */

/* A line for each GPU that worked: how busy it was, and why it was idle. */
static void report_head_add_gpus(struct report_head *head, const struct report *report, bool whole)
{
	const struct gpu_times *times = &report->summary->gpus;
	size_t shown = 0, worked = 0;

	for (size_t i = 0; i < times->spans.count; i++)
		worked += times->list[i].wall_ns != 0;
	for (size_t i = 0; i < times->spans.count; i++) {
		const struct gpu *gpu = &times->spans.list[i];
		const struct gpu_time *time = &times->list[i];
		char *text = gpu_busy_text(report->run, gpu, time);
		SCOPED char *why = gpu_idle_text(report->run, time),
			    *name = gpu_label(report->run, gpu);
		if (!text || shown == (size_t)(whole ? GPUS_WHOLE : GPUS_SHOWN)) {
			free(text);
			continue;
		}
		if (why)
			text_append(&text, "; ", "idle because: %s", why);
		if (++shown == GPUS_SHOWN && !whole && worked > shown)
			text_append(&text, "; ", "%zu more GPUs: --json", worked - shown);
		if (worked == 1) {
			report_head_add(head, "GPU", text);
			continue;
		}
		report_head_add(head, "GPU",
			gpu->number && gpu_name(report->run, gpu)
				? text_format("%u, %s: %s", gpu->number - 1, name, text)
				: text_format("%s: %s", name, text));
		free(text);
	}
}

enum { COLLECTIVES_SHOWN = 2, COLLECTIVES_WHOLE = 6 };

static void report_head_add_collectives(
	struct report_head *head, const struct report *report, bool whole)
{
	const struct summary *summary = report->summary;
	size_t most = whole ? COLLECTIVES_WHOLE : COLLECTIVES_SHOWN;
	uint64_t steps = 0;

	for (int i = 0; i < STEP_PHASES; i++)
		if (summary->only == SUMMARY_ALL_PHASES || summary->only == i)
			steps += summary->steps.phases[i].count;
	for (size_t i = 0; i < summary->collectives.count && i < most; i++)
		report_head_add(head, i ? "" : "Collectives",
			collective_text(report->run, &summary->collectives.list[i], steps));
}

enum { ENERGY_SHOWN = 2, ENERGY_WHOLE = 8 };

static void report_head_add_energy(
	struct report_head *head, const struct report *report, bool whole)
{
	SCOPED_BY(energy_rows_fini) struct energy_rows rows = {0};
	const struct step_times *times = &report->summary->steps;

	text_fail(energy_rows_measure(&rows, report->run, times));
	for (size_t i = 0; i < rows.list.count && i < (whole ? ENERGY_WHOLE : ENERGY_SHOWN); i++)
		report_head_add(head, i ? "" : "Energy",
			energy_text(report->run, times, &rows.list.items[i]));
}

void report_head_init(struct report_head *head, const struct report *report, bool whole)
{
	struct workload workload;

	*head = (struct report_head){0};
	workload_of_run(&workload, report->run);
	report_head_add(head, "", what_ran(report->run, &workload));
	const char *wrong = run_note_find(report->run, "graph.wrong");
	if (wrong)
		report_head_add(head, "Graph", text_copy(wrong));
	char *exemplar = exemplar_text(report->run);
	if (exemplar)
		report_head_add(head, "Kept for", exemplar);
	char *switched = marks_switched_text(report->run), *marks = marks_text(report->run);
	if (run_has_mark(report->run, MARK_PART) || run_has_mark(report->run, MARK_NEXT))
		report_head_add(head, "Part",
			text_copy(report->run->has_statistics_only
					  ? "statistics since recording began"
					  : "a part of a recording that has several files; "
					    "--totals: statistics since it began"));
	if (report->run->left_step_count)
		report_head_add(head, "Left out",
			text_format("%zu steps, recorded as one piece each to limit the cost "
				    "(record --max-cost): rows and speeds are of the others",
				report->run->left_step_count));
	if (switched)
		report_head_add(head, "Windows", switched);
	if (marks)
		report_head_add(head, "Marks", marks);
	report_head_add_gpus(head, report, whole);
	report_head_add_collectives(head, report, whole);
	add_ranks(head, report->run);
	add_messages(head, report->run);
	add_remote_calls(head, report->run);
	if (!report_has_steps(report)) {
		if (report->summary->row_count)
			report_head_add(head, "Steps",
				text_copy("none recorded: shares are parts of threads' lifetimes"));
		return;
	}
	if (!report->summary->wall_ns && report->run->open_samples)
		report_head_add(head, "Steps", text_copy("none ended: no shares are known"));
	report_head_add_phase(head, report, STEP_PREFILL, whole);
	report_head_add_phase(head, report, STEP_DECODE, whole);
	report_head_add_phase(head, report, STEP_MIXED, whole);
	report_head_add_phase(head, report, STEP_OTHER, whole);
	char *users = users_text(report->run);
	if (users)
		report_head_add(head, "Users", users);
	add_training(head, report);
	char *memory = memory_summary(report->run);
	if (memory)
		report_head_add(head, "Memory", memory);
	char *placed = placed_text(report->run);
	if (placed)
		report_head_add(head, "Placement", placed);
	report_head_add_energy(head, report, whole);
	add_drafts(head, report);
	const char *parts = run_note_find(report->run, "steps.parts");
	if (parts)
		report_head_add(head, "Steps", text_copy(parts));
	if (provenance_steps(report->run))
		report_head_add(head, "Steps", text_copy(provenance_steps(report->run)));
	if (whole)
		report_head_add_phase(head, report, STEP_WARM_UP, whole);
	add_beginning(head, report, &workload);
}

void report_head_fini(struct report_head *head)
{
	for (size_t i = 0; i < head->count; i++)
		free(head->lines[i].text);
	*head = (struct report_head){0};
}
