/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for people, as JSON (schema brick/requests/1), and as CSV. */
#include "ui/text/requests_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/cost/losses.h"
#include "analysis/requests/gaps.h"
#include "base/order.h"
#include "ui/text/csv_out.h"
#include "ui/text/json_out.h"
#include "ui/text/speculation_view.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"
#include "ui/text/trust_text.h"
#include "ui/text/users_text.h"

static const char *const requests_view_end_names[REQUEST_ENDS] = {
	[REQUEST_OPEN] = "open",
	[REQUEST_TOLD] = "ended",
	[REQUEST_REMOVED] = "removed",
	[REQUEST_CUT] = "cut",
	[REQUEST_FOLLOWED] = "followed",
	[REQUEST_RESTARTED] = "restarted",
	[REQUEST_REPLACED] = "replaced",
	[REQUEST_FREED] = "freed",
};

/* Names for people, in a table. */
static const char *const end_words[REQUEST_ENDS] = {
	[REQUEST_OPEN] = "still open",
	[REQUEST_TOLD] = "as the program said",
	[REQUEST_REMOVED] = "sequence removed",
	[REQUEST_CUT] = "sequence cut",
	[REQUEST_FOLLOWED] = "another prompt followed",
	[REQUEST_RESTARTED] = "sequence begun anew",
	[REQUEST_REPLACED] = "state loaded or copied",
	[REQUEST_FREED] = "model freed",
};

static const char *const reuse_names[REQUEST_REUSES] = {
	[REQUEST_REUSE_OWN] = "own",
	[REQUEST_REUSE_COPIED] = "copied",
	[REQUEST_REUSE_LOADED] = "loaded",
	[REQUEST_REUSE_BEFORE] = "before",
	[REQUEST_REUSE_PREFIX] = "prefix-cache",
};

static const char *const lost_names[REQUEST_LOST_REASONS] = {
	[REQUEST_LOST_CUT] = "prefix-differs",
	[REQUEST_LOST_REMOVED] = "sequence-removed",
	[REQUEST_LOST_TAKEN] = "slot-taken",
	[REQUEST_LOST_ELSEWHERE] = "other-slot",
	[REQUEST_LOST_SHIFTED] = "context-shift",
	[REQUEST_LOST_REPLACED] = "state-loaded",
	[REQUEST_LOST_CHECKPOINT] = "checkpoint-missing",
	[REQUEST_LOST_EVICTED] = "kv-full",
};

static const char *const cause_names[GAP_CAUSES] = {
	[GAP_PREFILL_BESIDE] = "prefill-in-step",
	[GAP_PREFILL_BEFORE] = "prefill-before",
	[GAP_OTHERS] = "other-steps",
	[GAP_DRAFTING] = "drafting",
	[GAP_MORE_REQUESTS] = "more-requests",
	[GAP_AGAIN] = "evaluated-again",
	[GAP_SHIFT] = "context-shift",
	[GAP_STATE] = "state",
	[GAP_CACHE] = "cache",
	[GAP_GRAPH] = "graph-rebuilt",
	[GAP_COLD_PAGES] = "page-faults",
	[GAP_PREEMPTED] = "preempted",
	[GAP_BLOCKED] = "blocked",
	[GAP_SAMPLING] = "sampling",
	[GAP_IDLE] = "waiting",
	[GAP_HOST] = "host",
	[GAP_EVICTED] = "kv-full",
	[GAP_STEP] = "step",
};

static const char *const part_names[GAP_PARTS] = {
	[GAP_PART_STEP] = "step_ns",
	[GAP_PART_GRAPH] = "graph_ns",
	[GAP_PART_PREEMPTED] = "preempted_ns",
	[GAP_PART_BLOCKED] = "blocked_ns",
	[GAP_PART_PREFILL] = "prefill_before_ns",
	[GAP_PART_OTHERS] = "other_steps_ns",
	[GAP_PART_DRAFTING] = "drafting_ns",
	[GAP_PART_STATE] = "state_ns",
	[GAP_PART_CACHE] = "cache_ns",
	[GAP_PART_SAMPLING] = "sampling_ns",
	[GAP_PART_IDLE] = "waiting_ns",
	[GAP_PART_HOST] = "host_ns",
};

const char *requests_cause(enum gap_cause cause)
{
	return cause_names[cause];
}

const char *requests_reason(enum request_lost lost)
{
	return lost_names[lost];
}

const char *requests_end(enum request_end end)
{
	return requests_view_end_names[end];
}

/* In JSON and CSV, which have the program's own number beside it: from 1, by begin. */
static uint64_t requests_view_place_of(uint32_t index)
{
	return (uint64_t)index + 1;
}

struct ranked {
	uint64_t ns;
	uint32_t request, gap;
};

COMPARATOR(requests_view_by_length, struct ranked,
	ORDER(y->ns, x->ns) ?: ORDER(x->request, y->request) ?: ORDER(x->gap, y->gap))

/* The requests to be shown, in their order; *count says how many. The caller frees. */
static struct ranked *rank_requests(const struct requests_view *view, size_t *count)
{
	const struct requests *q = view->requests;
	struct ranked *list = text_room(q->count + 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < q->count; i++) {
		uint64_t ns = request_ttft_ns(&q->list[i]);
		list[(*count)++] = (struct ranked){ns == ANALYSIS_UNKNOWN ? 0 : ns, (uint32_t)i, 0};
	}
	if (list && view->slowest) {
		qsort(list, *count, sizeof(*list), requests_view_by_length);
		*count = *count < view->slowest ? *count : view->slowest;
	}
	return list;
}

/* The long ones, the longest first; the caller frees. */
static struct ranked *rank_gaps(const struct requests_view *view, size_t *count)
{
	const struct requests *q = view->requests;
	struct ranked *list = text_room(q->gap_count + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < q->count; i++)
		for (uint32_t k = 0; k < q->list[i].gap_count; k++) {
			uint32_t gap = q->list[i].gap_first + k;
			if (q->gaps[gap].cause)
				list[n++] =
					(struct ranked){q->gaps[gap].excess_ns, (uint32_t)i, gap};
		}
	if (list)
		qsort(list, n, sizeof(*list), requests_view_by_length);
	*count = n;
	return list;
}

static const struct table_column requests_view_columns[] = {{"REQUEST", TABLE_RIGHT, 0},
	{"SEQUENCE", TABLE_RIGHT, 0}, {"MODEL", TABLE_RIGHT, 1}, {"BEGAN AFTER", TABLE_RIGHT, 5},
	{"QUEUED", TABLE_RIGHT, 1}, {"TTFT", TABLE_RIGHT, 0}, {"PROMPT", TABLE_RIGHT, 0},
	{"REUSED", TABLE_RIGHT, 1}, {"AGAIN", TABLE_RIGHT, 2}, {"OUTPUT", TABLE_RIGHT, 0},
	{"/TOKEN", TABLE_RIGHT, 0}, {"P50", TABLE_RIGHT, 4}, {"P95", TABLE_RIGHT, 3},
	{"P99", TABLE_RIGHT, 2}, {"MAX", TABLE_RIGHT, 1}, {"STEPS", TABLE_RIGHT, 6},
	{"BETWEEN", TABLE_RIGHT, 6}, {"END", TABLE_LEFT, 4}};

static uint32_t count_models(const struct requests *q)
{
	uint32_t models = 0;

	for (size_t i = 0; i < q->count; i++) {
		size_t k = 0;
		while (k < i && (q->list[k].model != q->list[i].model ||
					q->list[k].process != q->list[i].process))
			k++;
		models += k == i;
		if (models > 1)
			break;
	}
	return models;
}

static void requests_view_print_table(
	const struct requests_view *view, const struct terminal *terminal)
{
	size_t count;
	SCOPED struct ranked *list = rank_requests(view, &count);
	struct table *table = table_create(requests_view_columns,
		sizeof(requests_view_columns) / sizeof(*requests_view_columns));
	bool models = count_models(view->requests) > 1;

	for (size_t i = 0; list && i < count; i++) {
		uint32_t index = list[i].request;
		const struct requests *q = view->requests;
		const struct request *r = &q->list[index];
		table_row(table, STYLE_PLAIN);
		table_format(table, "%" PRIu64, request_number(q, index));
		table_format(table, "%" PRId32, r->sequence);
		table_format(table, models ? "%" PRIu32 : "", r->model);
		table_time(table, r->begin_ns - view->run->start_ns);
		table_time(table, request_queue_ns(r));
		table_time(table, request_ttft_ns(r));
		table_count(table, r->prompt_tokens);
		table_count(table, r->reused);
		table_count(table, r->again);
		table_count(table, r->output_tokens);
		table_time(table, request_token_ns(q, r));
		table_time(table, r->p50_ns);
		table_time(table, r->p95_ns);
		table_time(table, r->p99_ns);
		table_time(table, r->max_ns);
		table_count(table, r->part_count);
		table_time(table, request_between_ns(q, r));
		table_cell(table, end_words[r->end]);
	}
	table_hide_empty(table);
	table_print(table, terminal);
	table_destroy(table);
}

/* True if its first token came of the step that ended its prompt. */
static bool begins_by_prompt(const struct requests *q, const struct request *r)
{
	const struct request_part *parts = &q->parts[r->part_first];

	for (uint32_t i = 0; i < r->part_count; i++)
		if (parts[i].results || parts[i].tokens > parts[i].prompt)
			return parts[i].prompt > 0 && r->output_tokens;
	return false;
}

static void requests_view_print_head(
	const struct requests_view *view, const struct terminal *terminal)
{
	const struct requests *q = view->requests;
	uint64_t prompt = 0, output = 0, reused = 0, by_prompts = 0;
	const char *name = run_model_name(view->run, q->list[0].process, q->list[0].model);
	char of_prompt[UNITS_BYTES], of_output[UNITS_BYTES], of_reuse[UNITS_BYTES];
	SCOPED char *steps = NULL;

	for (size_t i = 0; i < q->count; i++) {
		prompt += q->list[i].prompt_tokens;
		output += q->list[i].output_tokens;
		reused += q->list[i].reused;
		by_prompts += begins_by_prompt(q, &q->list[i]);
	}
	if (by_prompts && by_prompts <= output)
		steps = text_format(
			" (%s by the step%s that ended a prompt, %s by steps that decode)",
			units_count(of_prompt, by_prompts), plural_s(by_prompts),
			units_count(of_output, output - by_prompts));
	paragraph(terminal, 0, "",
		"%s%s%zu request%s: %s prompt token%s evaluated, %s found in the cache, %s made%s",
		name ? name : "", name ? ", " : "", q->count, plural_s(q->count),
		units_count(of_prompt, prompt), plural_s(prompt), units_count(of_reuse, reused),
		units_count(of_output, output), steps ? steps : "");
	SCOPED char *users = users_text(view->run);
	if (users)
		paragraph(terminal, 0, "", "Of users at once: %s", users);
	if (q->unknown_steps)
		paragraph(terminal, 0, "",
			"Left out: %" PRIu64 " part%s of steps of no known model.",
			q->unknown_steps, plural_s(q->unknown_steps));
	fputc('\n', terminal->out);
}

/* The cause of a gap, in words. */
static char *cause_text(const struct requests_view *view, const struct request_gap *gap)
{
	char tokens[UNITS_BYTES], faults[UNITS_BYTES];

	units_count(tokens, gap->other_prompt);
	units_count(faults, gap->faults);
	switch (gap->cause) {
	case GAP_PREFILL_BESIDE:
		return text_format("its step evaluated %s prompt tokens of request %" PRIu64
				   ", too",
			tokens, request_number(view->requests, gap->other));
	case GAP_PREFILL_BEFORE:
		return text_format("%s prompt tokens of request %" PRIu64 " were evaluated first",
			tokens, request_number(view->requests, gap->other));
	case GAP_OTHERS:
		return text_format("steps of other requests came first, of request %" PRIu64
				   " most",
			request_number(view->requests, gap->other));
	case GAP_DRAFTING:
		return text_copy("drafting took longer");
	case GAP_MORE_REQUESTS:
		return text_copy("its step had tokens of more requests than usual");
	case GAP_AGAIN:
		return text_copy(
			"tokens of its own were evaluated again: they were no longer there");
	case GAP_EVICTED:
		return text_copy(
			"the cache was full: its tokens were taken out, and evaluated again");
	case GAP_SHIFT:
		return text_copy("its context was full and was shifted");
	case GAP_STATE:
		return text_copy("a state was saved or loaded");
	case GAP_CACHE:
		return text_copy("cells of the cache were given back or copied");
	case GAP_GRAPH:
		return text_copy("the graph of its step was built anew");
	case GAP_COLD_PAGES:
		return text_format("%s page faults in its step", faults);
	case GAP_PREEMPTED:
		return text_copy("a thread of its step was preempted");
	case GAP_BLOCKED:
		return text_copy("its thread was blocked within the step");
	case GAP_SAMPLING:
		return text_copy("sampling took longer");
	case GAP_IDLE:
		return text_copy("between the steps the thread waited, as for a client or a lock");
	case GAP_HOST:
		return text_copy("between the steps the program did something else");
	default:
		return text_copy("its step took longer, and nothing recorded explains why");
	}
}

static bool is_of_prefill(const struct request_gap *gap)
{
	return gap->cause == GAP_PREFILL_BESIDE || gap->cause == GAP_STEP ||
	       gap->cause == GAP_MORE_REQUESTS || gap->cause == GAP_AGAIN;
}

static char *bricks_text(const struct requests_view *view, const struct request_gap *gap)
{
	struct gap_brick bricks[GAP_BRICKS];
	char *text = NULL, share[UNITS_BYTES];

	if (!is_of_prefill(gap) || text_fail(gap_bricks(view->run, gap->step, bricks)) < 0)
		return NULL;
	for (int i = 0; i < GAP_BRICKS && bricks[i].brick != RUN_NONE; i++) {
		SCOPED char *name = text_safe(view->run->bricks[bricks[i].brick].name);
		text_append(&text, ", ", "%s %s", name ? name : "",
			units_percent(share, bricks[i].share));
	}
	return text;
}

enum { LOST_SHOWN = 10 };

/* Prints a gap in a line of its own, behind a text. */
static void print_gap(const struct requests_view *view, const struct ranked *at, const char *before,
	const struct terminal *terminal)
{
	const struct request_gap *gap = &view->requests->gaps[at->gap];
	SCOPED char *why = cause_text(view, gap);
	SCOPED char *bricks = bricks_text(view, gap);
	char took[UNITS_BYTES], usual[UNITS_BYTES];

	paragraph(terminal, 4, "  -", "%srequest %" PRIu64 ", %s instead of %s: %s%s%s%s", before,
		request_number(view->requests, at->request), units_time(took, gap_ns(gap)),
		units_time(usual, gap_ns(gap) - gap->excess_ns), why ? why : "", bricks ? " (" : "",
		bricks ? bricks : "", bricks ? ")" : "");
}

/* The gaps of one cause. */
struct gap_group {
	size_t count;
	uint64_t excess_ns;
	struct ranked longest;
};

COMPARATOR(by_excess, struct gap_group, ORDER(y->excess_ns, x->excess_ns))

/* A line for each cause: how many, how much longer than usual all together, the worst of them. */
static void print_causes(const struct requests_view *view, const struct ranked *list, size_t count,
	const struct terminal *terminal)
{
	struct gap_group groups[GAP_CAUSES] = {{0}};
	char excess[UNITS_BYTES];

	for (size_t i = 0; i < count; i++) {
		const struct request_gap *gap = &view->requests->gaps[list[i].gap];
		struct gap_group *group = &groups[gap->cause];
		if (!group->count++) /* they come by excess */
			group->longest = list[i];
		group->excess_ns += gap->excess_ns;
	}
	qsort(groups, GAP_CAUSES, sizeof(*groups), by_excess);
	for (int i = 0; i < GAP_CAUSES && groups[i].count; i++) {
		SCOPED char *all = text_format(
			"%zu gaps of one cause, %s longer than usual in all; the longest: ",
			groups[i].count, units_time(excess, groups[i].excess_ns));
		print_gap(
			view, &groups[i].longest, groups[i].count > 1 && all ? all : "", terminal);
	}
}

static void requests_view_print_gaps(
	const struct requests_view *view, const struct terminal *terminal)
{
	size_t count, all;
	SCOPED struct ranked *list = rank_gaps(view, &all);

	if (!all || !list)
		return;
	count = view->slowest && view->slowest < all ? view->slowest : all;
	fputc('\n', terminal->out);
	paragraph(terminal, 0, "",
		"%zu gap%s between tokens longer than %d x the median of the request%s", all,
		plural_s(all), GAP_LONG, count < all ? "; the longest:" : ":");
	if (!view->slowest) {
		print_causes(view, list, all, terminal);
		return;
	}
	for (size_t i = 0; i < count; i++)
		print_gap(view, &list[i], "", terminal);
}

static char *lost_text(const struct requests *q, const struct request *r)
{
	switch (r->lost) {
	case REQUEST_LOST_CUT:
		return text_format(
			"the sequence's prompts differ from position %" PRIu32, r->lost_at);
	case REQUEST_LOST_REMOVED:
		return text_copy("the sequence had been removed");
	case REQUEST_LOST_TAKEN:
		return text_format("request %" PRIu64 " had taken the sequence that had them",
			request_number(q, r->lost_by));
	case REQUEST_LOST_ELSEWHERE:
		return text_format("another sequence has them, that of request %" PRIu64,
			request_number(q, r->lost_by));
	case REQUEST_LOST_SHIFTED:
		return text_copy("the context had been shifted");
	case REQUEST_LOST_REPLACED:
		return text_copy("a saved state or a copy had come in their place");
	case REQUEST_LOST_EVICTED:
		return text_copy("the cache was full, and they were taken out");
	default:
		return text_copy(
			"all of it was removed for the same prompt: there was no checkpoint to go "
			"back to, or the cache was not to be used");
	}
}

static void print_cache(const struct requests_view *view, const struct terminal *terminal)
{
	const struct requests *q = view->requests;
	uint64_t again = 0;
	char tokens[UNITS_BYTES], cost[UNITS_BYTES];
	SCOPED char *modelled = NULL;
	unsigned shown = 0, of = 0;

	for (size_t i = 0; i < q->count; i++) {
		again += q->list[i].again;
		of += q->list[i].again > 0;
	}
	if (!again)
		return;
	if (q->prompt_token_ns > 0)
		modelled =
			text_format("; that cost %s, modelled by prefill steps of this recording",
				units_time(cost, (uint64_t)((double)again * q->prompt_token_ns)));
	fputc('\n', terminal->out);
	paragraph(terminal, 0, "",
		"Prompt cache: at least %s token%s evaluated that had been evaluated before%s",
		units_count(tokens, again), again == 1 ? " was" : "s were",
		modelled ? modelled : "");
	for (size_t i = 0; i < q->count && shown < LOST_SHOWN; i++) {
		if (!q->list[i].again)
			continue;
		SCOPED char *why = lost_text(q, &q->list[i]);
		paragraph(terminal, 4, "  -", "request %" PRIu64 ", %s: %s",
			request_number(q, (uint32_t)i), units_count(tokens, q->list[i].again),
			why ? why : "");
		shown++;
	}
	if (of > shown)
		paragraph(
			terminal, 4, "  -", "%u more request%s", of - shown, plural_s(of - shown));
}

static void print_interference(const struct requests_view *view, const struct terminal *terminal)
{
	const struct interference *x = view->interference;
	char took[UNITS_BYTES], would[UNITS_BYTES], low[UNITS_BYTES], high[UNITS_BYTES];

	if (!x->mixed_steps)
		return;
	fputc('\n', terminal->out);
	if (!x->known_steps) {
		paragraph(terminal, 0, "",
			"Prompts rode along in %" PRIu64
			" decode step%s. The time without them is not known: too few steps are "
			"like them.",
			x->mixed_steps, plural_s(x->mixed_steps));
		return;
	}
	paragraph(terminal, 0, "",
		"Prompts rode along in %" PRIu64 " decode step%s. Modelled for %" PRIu64
		" of these: without prompts %s (%s to %s) instead of %s",
		x->mixed_steps, plural_s(x->mixed_steps), x->known_steps,
		units_time(would, (uint64_t)x->expected_ns), units_time(low, (uint64_t)x->low_ns),
		units_time(high, (uint64_t)x->high_ns), units_time(took, x->measured_ns));
	char p99[UNITS_BYTES], now[UNITS_BYTES], added[UNITS_BYTES];
	for (uint32_t i = 0; i < x->plan_count; i++)
		if (x->plans[i].is_known && x->p99_ns != ANALYSIS_UNKNOWN)
			paragraph(terminal, 4, "  -",
				"at most %" PRIu32
				" prompt tokens a step: p99 between tokens %s instead of %s; the "
				"first token of such a prompt %s later",
				x->plans[i].tokens, units_time(p99, (uint64_t)x->plans[i].p99_ns),
				units_time(now, x->p99_ns),
				units_time(added, (uint64_t)x->plans[i].ttft_added_ns));
}

void requests_text(const struct requests_view *view, FILE *out)
{
	struct terminal terminal;
	SCOPED char *preempted = preempted_text(&view->presence);

	terminal_init(&terminal, out);
	requests_view_print_head(view, &terminal);
	requests_view_print_table(view, &terminal);
	requests_view_print_gaps(view, &terminal);
	print_cache(view, &terminal);
	print_interference(view, &terminal);
	speculation_text(view->run, view->speculations, &terminal);
	if (preempted) {
		fputc('\n', out);
		paragraph(&terminal, 0, "", "%s All times here are longer for it.", preempted);
	}
}

static json_t *name_json(const char *name)
{
	return json_text(name);
}

static json_t *index_json(uint32_t index)
{
	return json_number(index == RUN_NONE ? ANALYSIS_UNKNOWN : requests_view_place_of(index));
}

static json_t *gap_json(const struct requests_view *view, const struct request_gap *gap)
{
	json_t *o = json_object(), *parts = json_object();
	bool is_long = gap->cause != GAP_USUAL;

	json_put(o, "begin_ns", json_number(gap->begin_ns - view->run->start_ns));
	json_put(o, "ns", json_number(gap_ns(gap)));
	json_put(o, "step", json_number(view->numbers[gap->step]));
	json_put(o, "tokens", json_number(gap->tokens));
	json_put(o, "cause", name_json(cause_names[gap->cause]));
	json_put(o, "excess_ns", json_number(is_long ? gap->excess_ns : ANALYSIS_UNKNOWN));
	json_put(o, "other_request", index_json(gap->other));
	json_put(o, "other_prompt_tokens", json_number(gap->other_prompt));
	for (int k = 0; k < GAP_PARTS; k++)
		json_put(parts, part_names[k], json_number(gap->parts_ns[k]));
	json_put(o, "parts", parts);
	if (is_long && is_of_prefill(gap)) {
		struct gap_brick bricks[GAP_BRICKS];
		json_t *list = json_array();
		if (text_fail(gap_bricks(view->run, gap->step, bricks)) == 0)
			for (int i = 0; i < GAP_BRICKS && bricks[i].brick != RUN_NONE; i++) {
				json_t *b = json_object();
				json_put(b, "name",
					json_text(view->run->bricks[bricks[i].brick].name));
				json_put(b, "share", json_rate(bricks[i].share));
				json_add(list, b);
			}
		json_put(o, "bricks", list);
	}
	return o;
}

static json_t *cache_json(const struct requests_view *view, const struct request *r)
{
	json_t *o = json_object();
	double rate = view->requests->prompt_token_ns;

	json_put(o, "reused_tokens", json_number(r->reused));
	json_put(o, "reused_from", name_json(reuse_names[r->reuse]));
	json_put(o, "evaluated_again_tokens", json_number(r->again));
	json_put(o, "reason", name_json(r->again ? lost_names[r->lost] : NULL));
	json_put(o, "position",
		json_number(
			r->again && r->lost == REQUEST_LOST_CUT ? r->lost_at : ANALYSIS_UNKNOWN));
	json_put(o, "request", index_json(r->again ? r->lost_by : RUN_NONE));
	json_put(o, "modelled_ns",
		json_number(r->again && rate > 0 ? (uint64_t)(r->again * rate) : ANALYSIS_UNKNOWN));
	json_put(o, "shifts", json_number(r->shifts));
	json_put(o, "shifted_tokens", json_number(r->shifted));
	return o;
}

static json_t *request_json(const struct requests_view *view, uint32_t index)
{
	const struct requests *q = view->requests;
	const struct request *r = &q->list[index];
	json_t *o = json_object(), *gaps = json_array();

	json_put(o, "request", json_number(requests_view_place_of(index)));
	json_put(o, "number", json_number(r->has_number ? r->number : ANALYSIS_UNKNOWN));
	json_put(o, "pid", json_number(view->run->processes[r->process].pid));
	json_put(o, "model", json_number(r->model));
	json_put(o, "model_name", json_text(run_model_name(view->run, r->process, r->model)));
	json_put(o, "sequence", json_number((uint64_t)r->sequence));
	json_put(o, "begin_ns", json_number(r->begin_ns - view->run->start_ns));
	json_put(o, "end_ns", json_number(r->end_ns - view->run->start_ns));
	json_put(o, "end", name_json(requests_view_end_names[r->end]));
	json_put(o, "queue_ns", json_number(request_queue_ns(r)));
	json_put(o, "ttft_ns", json_number(request_ttft_ns(r)));
	json_put(o, "prompt_tokens", json_number(r->prompt_tokens));
	json_put(o, "output_tokens", json_number(r->output_tokens));
	json_put(o, "refuted_tokens", json_number(r->refuted));
	json_put(o, "token_ns", json_number(request_token_ns(q, r)));
	json_put(o, "p50_ns", json_number(r->p50_ns));
	json_put(o, "p95_ns", json_number(r->p95_ns));
	json_put(o, "p99_ns", json_number(r->p99_ns));
	json_put(o, "max_ns", json_number(r->max_ns));
	json_put(o, "steps", json_number(r->part_count));
	json_put(o, "steps_ns", json_number(r->running_ns));
	json_put(o, "between_ns", json_number(request_between_ns(q, r)));
	json_put(o, "cache", cache_json(view, r));
	for (uint32_t i = 0; i < r->gap_count; i++)
		json_add(gaps, gap_json(view, &q->gaps[r->gap_first + i]));
	json_put(o, "gaps", gaps);
	return o;
}

static json_t *interference_json(const struct interference *x)
{
	json_t *o = json_object(), *plans = json_array();
	bool known = x->known_steps > 0;

	json_put(o, "mixed_steps", json_number(x->mixed_steps));
	json_put(o, "known_steps", json_number(x->known_steps));
	json_put(o, "measured_ns", json_number(known ? x->measured_ns : ANALYSIS_UNKNOWN));
	json_put(o, "prompt_tokens", json_number(known ? x->prompt_tokens : ANALYSIS_UNKNOWN));
	json_put(o, "modelled_ns", json_rate(known ? x->expected_ns : -1));
	json_put(o, "modelled_low_ns", json_rate(known ? x->low_ns : -1));
	json_put(o, "modelled_high_ns", json_rate(known ? x->high_ns : -1));
	json_put(o, "modelled_prompt_token_ns", json_rate(x->has_slope ? x->slope_ns : -1));
	json_put(o, "p99_ns", json_number(x->p99_ns));
	for (uint32_t i = 0; i < x->plan_count; i++) {
		json_t *p = json_object();
		json_put(p, "tokens", json_number(x->plans[i].tokens));
		json_put(p, "modelled_p99_ns",
			json_rate(x->plans[i].is_known ? x->plans[i].p99_ns : -1));
		json_put(p, "modelled_ttft_added_ns",
			json_rate(x->plans[i].is_known ? x->plans[i].ttft_added_ns : -1));
		json_add(plans, p);
	}
	json_put(o, "chunks", plans);
	return o;
}

json_t *requests_to_json(const struct requests_view *view)
{
	json_t *o = json_object(), *list = json_array();
	size_t count;
	SCOPED struct ranked *ranked = rank_requests(view, &count);

	json_put(o, "schema", json_text("brick/requests/1"));
	for (size_t i = 0; ranked && i < count; i++)
		json_add(list, request_json(view, ranked[i].request));
	json_put(o, "requests", list);
	json_put(o, "interference", interference_json(view->interference));
	json_put(o, "users", users_json(view->run));
	json_put(o, "speculation", speculation_to_json(view->run, view->speculations));
	json_put(o, "dropped_records", json_number(losses_dropped(view->run)));
	json_put(o, "unknown_parts", json_number(view->requests->unknown_steps));
	json_put(o, "preempted_share", json_rate(view->presence.preempted));
	return o;
}

void requests_csv(const struct requests_view *view, FILE *out)
{
	static const char *const titles[] = {"request", "number", "pid", "model", "sequence",
		"begin_ns", "end_ns", "queue_ns", "ttft_ns", "prompt_tokens", "reused_tokens",
		"evaluated_again_tokens", "output_tokens", "token_ns", "p50_ns", "p95_ns", "p99_ns",
		"max_ns", "steps", "steps_ns", "between_ns", "end", "reason"};
	const struct requests *q = view->requests;
	size_t count;
	SCOPED struct ranked *ranked = rank_requests(view, &count);

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		csv_text(out, titles[i]);
	csv_end(out);
	for (size_t i = 0; ranked && i < count; i++) {
		const struct request *r = &q->list[ranked[i].request];
		const uint64_t numbers[] = {requests_view_place_of(ranked[i].request),
			r->has_number ? r->number : ANALYSIS_UNKNOWN,
			view->run->processes[r->process].pid, r->model, (uint64_t)r->sequence,
			r->begin_ns - view->run->start_ns, r->end_ns - view->run->start_ns,
			request_queue_ns(r), request_ttft_ns(r), r->prompt_tokens, r->reused,
			r->again, r->output_tokens, request_token_ns(q, r), r->p50_ns, r->p95_ns,
			r->p99_ns, r->max_ns, r->part_count, r->running_ns,
			request_between_ns(q, r)};
		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			csv_number(out, numbers[k]);
		csv_text(out, requests_view_end_names[r->end]);
		csv_text(out, r->again ? lost_names[r->lost] : NULL);
		csv_end(out);
	}
}
