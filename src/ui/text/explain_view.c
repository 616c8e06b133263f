/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the function that makes the sentences of a finding, and prints them as text and as JSON. If
 * the JSON would be too long, the findings that cost least are left out.
 */
#include "ui/text/explain_view.h"

#include <string.h>

#include "analysis/cost/losses.h"
#include "base/number.h"
#include "ui/text/json_out.h"
#include "ui/text/phase_text.h"
#include "ui/text/provenance.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/users_text.h"
#include "ui/text/words.h"

/* The tokens of a phase; 0: it has no steps. */
static uint64_t tokens_of(const struct explain_facts *f, int p)
{
	return f->phases[p].summary ? explain_tokens(f, (enum step_phase)p) : 0;
}

uint64_t finding_with_threads_ns(
	const struct explain_phase *phase, uint64_t tokens, uint32_t threads)
{
	if (!phase->summary || !tokens || phase->queue || !phase->team_ns)
		return 0;
	return (explain_ideal_ns(phase, threads) + phase->elapsed_ns - phase->wall_ns) / tokens;
}

/* True if some phase would be faster with so many threads, or nobody knows. */
static bool helps_with(const struct explain_facts *f, uint32_t threads)
{
	bool is_known = false;

	for (int p = 0; p < STEP_PHASES && threads; p++) {
		uint64_t tokens = tokens_of(f, p);
		uint64_t ns = finding_with_threads_ns(&f->phases[p], tokens, threads);
		if (ns && ns < f->phases[p].elapsed_ns / tokens)
			return true;
		is_known |= ns != 0;
	}
	return !is_known;
}

void finding_words(struct finding_words *words, const struct explain_facts *facts,
	const struct finding *finding)
{
	static void (*const rules[FINDING_RULES])(struct finding_words * w,
		const struct explain_facts *f, const struct explain_phase *phase,
		const struct finding *finding) = {
#define EXPLAIN_WORDS(name, ...) [FINDING_##name] = words_##name,
		EXPLAIN_RULES(EXPLAIN_WORDS)
#undef EXPLAIN_WORDS
	};

	const struct explain_phase *phase = &facts->phases[finding->phase];
	uint64_t tokens = explain_tokens(facts, finding->phase);
	*words = (struct finding_words){0};
	rules[finding->rule](words, facts, phase, finding);
	/* the CPU has the work of a device to do then; a smaller type leaves a part of the product
	 */
	bool is_known =
		finding->rule != FINDING_software_device && finding->rule != FINDING_vocabulary;
	if (*words->other && !helps_with(facts, words->other_threads))
		*words->other = '\0';
	if (is_known && tokens && finding->cost_ns && finding->cost_ns < phase->elapsed_ns)
		words->expected_ns = (phase->elapsed_ns - finding->cost_ns) / tokens;
}

enum { LABEL = 11 };

/* A labelled paragraph. */
#define tell(label, ...) paragraph(terminal, LABEL, label, __VA_ARGS__)

static void explain_view_print_phase(
	const struct explain_facts *facts, int p, const struct terminal *terminal)
{
	const struct explain_phase *phase = &facts->phases[p];
	char wall[UNITS_BYTES], each[UNITS_BYTES], gaps[UNITS_BYTES], between[64] = "";
	uint64_t tokens = explain_tokens(facts, p), gap_ns = phase->elapsed_ns - phase->wall_ns;

	/* where the steps alone, as a report has them, would be another figure */
	if (tokens && strcmp(units_time(wall, phase->wall_ns), units_time(each, phase->elapsed_ns)))
		snprintf(between, sizeof(between), ", %s of it between steps",
			units_time(gaps, gap_ns / tokens));
	if (!tokens && phase->steps) {
		tell(phase_label(p), "%llu step%s, %s: %s a step", (unsigned long long)phase->steps,
			plural_s(phase->steps), units_time(wall, phase->elapsed_ns),
			units_time(each, phase->elapsed_ns / phase->steps));
		return;
	}
	uint32_t turns = phase->between.turn_threads;
	uint64_t token_ns = tokens ? phase->elapsed_ns / tokens : UINT64_MAX;
	char all[UNITS_BYTES], in_all[96] = "";
	if (turns > 1 && tokens)
		snprintf(in_all, sizeof(in_all), " for each of %u threads, %s in all", turns,
			units_time(all, words_turns_ns(phase, token_ns)));
	tell(phase_label(p), "%llu step%s, %llu token%s, %s: %s a token%s%s",
		(unsigned long long)phase->steps, plural_s(phase->steps),
		(unsigned long long)tokens, plural_s(tokens), units_time(wall, phase->elapsed_ns),
		units_time(each, token_ns), in_all, between);
}

/* True if an earlier, costlier finding is of the same rule, in another phase. */
static bool same_before(const struct findings *findings, const struct finding *finding)
{
	for (const struct finding *f = findings->list; f < finding; f++)
		if (f->rule == finding->rule)
			return true;
	return false;
}

/* The printed number of the finding; findings of one rule in several phases share a number. */
static size_t explain_view_number_of(const struct findings *findings, const struct finding *finding)
{
	size_t number = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->list[i];
		number += !same_before(findings, f);
		if (f->rule == finding->rule)
			break;
	}
	return number;
}

/*
 * Prints the time of a token without the cost of this finding, and also without the costs of the
 * findings above, if they can be added up.
 */
static void print_expected(const struct explain_facts *facts, const struct findings *findings,
	const struct finding *finding, const struct terminal *terminal, bool has_others,
	const char *line)
{
	const struct explain_phase *phase = &facts->phases[finding->phase];
	uint64_t tokens = explain_tokens(facts, finding->phase);
	char alone[UNITS_BYTES], now[UNITS_BYTES], all[UNITS_BYTES], more[64] = "";
	struct finding_words words;

	finding_words(&words, facts, finding);
	if (!words.expected_ns)
		return;
	uint64_t left_ns = finding->left_ns / tokens;
	if (words.is_once) {
		tell(line, "%s instead of %s for these %llu token%s%s%s",
			units_time(alone, phase->elapsed_ns - finding->cost_ns),
			units_time(now, phase->elapsed_ns), (unsigned long long)tokens,
			plural_s(tokens), has_others ? " in " : "",
			has_others ? phase_whole(finding->phase) : "");
		return;
	}
	if (finding->overlaps)
		snprintf(more, sizeof(more), "; not in addition to %zu: the same time",
			explain_view_number_of(findings, &findings->list[finding->overlaps - 1]));
	else if (left_ns < words.expected_ns)
		snprintf(more, sizeof(more), "; %s with those above", units_time(all, left_ns));
	tell(line, "%s a token instead of %s%s%s%s%s", units_time(alone, words.expected_ns),
		units_time(now, phase->elapsed_ns / tokens), has_others ? " in " : "",
		has_others ? phase_whole(finding->phase) : "", words.expected_note, more);
}

/* Prints the other advice, and the expected time of each phase. */
static void print_other(const struct explain_facts *facts, const struct finding_words *words,
	const struct terminal *terminal)
{
	const char *line = "  expect";

	tell("  or", "%s", words->other);
	for (int p = STEP_PHASES; p-- > 0;) {
		const struct explain_phase *phase = &facts->phases[p];
		uint64_t tokens = tokens_of(facts, p), now_ns;
		uint64_t ns = finding_with_threads_ns(phase, tokens, words->other_threads);
		char with[UNITS_BYTES], without[UNITS_BYTES];
		if (!words->other_threads || !ns)
			continue;
		now_ns = phase->elapsed_ns / tokens;
		tell(line, "%s a token instead of %s in %s%s", units_time(with, ns),
			units_time(without, now_ns), phase_whole(p), ns > now_ns ? ": slower" : "");
		line = "  and";
	}
	if (!strcmp(line, "  expect"))
		tell(line, "what that gives is not known from this recording");
}

/* Prints a finding together with those of the same rule in other phases. */
static void print_finding(const struct explain_facts *facts, const struct findings *findings,
	const struct finding *finding, const struct terminal *terminal)
{
	const struct finding *end = findings->list + findings->count, *f;
	char label[UNITS_BYTES];
	struct finding_words words;
	const char *line = "  costs";
	bool has_others = false;

	finding_words(&words, facts, finding);
	snprintf(label, sizeof(label), "%zu %s", explain_view_number_of(findings, finding),
		phase_label(finding->phase));
	putc('\n', terminal->out);
	tell(label, "%s", words.what);
	for (f = finding; f < end; f++)
		if (f->rule == finding->rule) {
			has_others |= f != finding;
			const char *name = phase_whole(f->phase);
			double per_token = finding_cost_per_token_ns(facts, f);
			uint64_t steps = facts->phases[f->phase].steps;
			char token[UNITS_BYTES], part[UNITS_BYTES], of_all[UNITS_BYTES];
			/* where no token is known, each step pays */
			units_time(token, per_token >= 0 ? number_of_double(per_token + 0.5)
					  : steps	 ? f->cost_ns / steps
							 : UINT64_MAX);
			units_percent(part, finding_share(f));
			units_percent(of_all,
				explain_share(f->cost_ns, facts->phases[f->phase].elapsed_ns));
			const char *less = strcmp(part, of_all) ? " without preemption" : "";
			if (f->cost_ns && words.is_once)
				tell(line, "%s in all, %s of %s%s (%s)",
					units_time(token, f->cost_ns), part, name, less,
					finding_certainty_name(f->certainty));
			else if (f->cost_ns)
				tell(line, "%s a %s, %s of %s%s (%s%s)", token,
					per_token < 0 && steps ? "step" : "token", part, name, less,
					finding_certainty_name(f->certainty),
					finding_rule_kind(f->rule) == FINDING_CHOICE
						? "; a trade-off"
						: "");
			else
				tell(line,
					words.is_unknown ? "an unknown part of %s"
							 : "nothing that could be saved in %s",
					name);
			line = "  and";
		}
	tell("  because", "%s", words.evidence);
	tell("  try", "%s", words.advice);
	/* a phase may have a setting of its own */
	for (f = finding + 1; f < end; f++) {
		struct finding_words its;
		if (f->rule != finding->rule)
			continue;
		finding_words(&its, facts, f);
		if (strcmp(its.advice, words.advice))
			tell("  and", "in %s: %s", phase_whole(f->phase), its.advice);
	}
	line = "  expect";
	for (f = finding; f < end; f++)
		if (f->rule == finding->rule) {
			print_expected(facts, findings, f, terminal, has_others, line);
			line = "  and";
		}
	if (*words.other)
		print_other(facts, &words, terminal);
	tell("  see", "%s %s", words.show, facts->run->path);
}

static const struct summary_row *most_of(const struct summary *summary, bool on_device)
{
	const struct summary_row *most = NULL;

	for (size_t i = 0; summary && i < summary->row_count; i++) {
		const struct summary_row *row = &summary->rows[i];
		/* 0 stands behind ANALYSIS_UNKNOWN + 1 */
		if (!most || (on_device ? row->device_step_ns + 1 > most->device_step_ns + 1
					: row->wall_ns > most->wall_ns))
			most = row;
	}
	return most;
}

/*
 * Which brick takes most of a phase: of the GPU's time where the GPU is busy for most of the phase
 * (the engine's thread then waits), else of the thread's.
 */
static char *explain_view_most(const struct explain_facts *facts, enum step_phase p)
{
	const struct explain_phase *phase = &facts->phases[p];
	const struct gpu_time *gpu = facts->gpus[p].time;
	bool on_device = gpu && 2 * gpu->busy_ns > phase->elapsed_ns;
	const struct summary_row *most = most_of(phase->summary, on_device);
	char busy[UNITS_BYTES], share[UNITS_BYTES], reached[UNITS_BYTES];

	if (!most)
		return NULL;
	units_percent(busy, gpu ? explain_share(gpu->busy_ns, phase->elapsed_ns) : 0);
	units_percent(share,
		explain_share(on_device ? most->device_step_ns : most->wall_ns, phase->elapsed_ns));
	/* a brick runs on several GPUs by turns, too */
	if (on_device && phase->summary->gpus.spans.count > 1)
		return text_format("one of %zu GPUs computes or copies %s of it; " NAME
				   " runs most, on one or more of them for %s of the time",
			phase->summary->gpus.spans.count, busy, most->name, share);
	if (on_device)
		return text_format("the GPU computes or copies %s of it, " NAME
				   " most (%s of the time)",
			busy, most->name, share);
	const struct roofline_row *roof =
		roofline_find(facts->roofline, most->id, (enum roofline_phase)p, false);
	bool has_roof = roof && roof->distance >= 0;
	return text_format(NAME " takes most (%s of the time%s%s%s)", most->name, share,
		has_roof ? ", at " : "", has_roof ? units_percent(reached, 1 - roof->distance) : "",
		has_roof ? " of its roof" : "");
}

/* Prints how much the findings explain, which else takes time, and which was not looked into. */
static void print_rest(const struct explain_facts *facts, const struct findings *findings,
	const struct terminal *terminal)
{
	for (int p = STEP_PHASES; p-- > 0;) {
		const struct explain_phase *phase = &facts->phases[p];
		SCOPED char *most = explain_view_most(facts, (enum step_phase)p);
		char part[UNITS_BYTES];
		if (!most || !phase->elapsed_ns)
			continue;
		tell(phase_label(p), "%s%s of the time; %s",
			findings->explained_ns[p] ? "the findings explain "
						  : "no finding explains any",
			findings->explained_ns[p]
				? units_percent(part, explain_share(findings->explained_ns[p],
							      phase->elapsed_ns))
				: "",
			most);
	}
	if (!facts->ceilings)
		tell("not seen",
			"how close bricks are to what the machine can do: 'brick ceilings' was "
			"not run on it");
}

void explain_text(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	struct terminal screen, *terminal = &screen;
	struct losses losses;

	terminal_init(terminal, out);
	for (int p = STEP_PHASES; p-- > 0;)
		if (facts->phases[p].summary)
			explain_view_print_phase(facts, p, terminal);
	SCOPED char *users = users_text(facts->run);
	if (users)
		tell("users", "%s", users);
	if (provenance_steps(facts->run))
		tell("steps", "%s", provenance_steps(facts->run));
	losses_of_run(&losses, facts->run, 0);
	if (losses_any(&losses))
		tell("trust", "the recording is not whole: see the ledger of 'brick report'");
	if (facts->run->off_cpu.source == OFF_CPU_UNKNOWN)
		tell("trust", "when threads were off their CPUs was not recorded: no word on it");
	else if (facts->run->off_cpu.gap_count)
		tell("trust",
			"when threads were off their CPUs was not recorded all the time, as 'brick "
			"report' says: no word on the rest");
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->list[i];
		if (!same_before(findings, f) &&
			(!top || explain_view_number_of(findings, f) <= top))
			print_finding(facts, findings, f, terminal);
	}
	if (!findings->count)
		tell("", "Nothing stands out: none of %d checks found 2 %% of a phase or more.",
			FINDING_RULES);
	putc('\n', out);
	print_rest(facts, findings, terminal);
}

/* JSON. */

static json_t *explain_view_phase_json(
	const struct explain_phase *phase, int p, uint64_t explained_ns)
{
	json_t *object = json_object();

	json_put(object, "phase", json_text(step_phase_name(p)));
	json_put(object, "steps", json_number(phase->steps));
	json_put(object, "tokens", json_number(phase->tokens));
	json_put(object, "wall_ns", json_number(phase->wall_ns));
	json_put(object, "elapsed_ns", json_number(phase->elapsed_ns));
	json_put(object, "held_ns", json_number(phase->held_ns));
	json_put(object, "explained_ns", json_number(explained_ns));
	return object;
}

/* Another way, with the time that a token of each phase would take. */
static json_t *other_json(const struct explain_facts *facts, const struct finding_words *words)
{
	json_t *object = json_object(), *expected = json_object();

	json_put(object, "try", json_text(words->other));
	for (int p = 0; p < STEP_PHASES && words->other_threads; p++) {
		uint64_t ns = finding_with_threads_ns(
			&facts->phases[p], tokens_of(facts, p), words->other_threads);
		if (ns)
			json_put(expected, step_phase_name(p), json_number(ns));
	}
	json_put(object, "expected_per_token_ns", expected);
	return object;
}

/* Bounds are of the whole excess; the finding's cost lacks the costs of findings that name it. */
static json_t *expectation_json(const struct explain_facts *facts, const struct finding *finding)
{
	const struct excess *e = &finding->of.excess;
	uint64_t tokens = explain_tokens(facts, finding->phase);
	json_t *object = json_object();

	json_put(object, "source", json_text(expectation_source_name(e->source)));
	json_put(object, "took_ns", json_number(e->took_ns));
	json_put(object, "excess_per_token_ns", json_rate(known_ratio(e->ns, tokens)));
	json_put(object, "low_per_token_ns", json_rate(known_ratio(e->low_ns, tokens)));
	json_put(object, "high_per_token_ns", json_rate(known_ratio(e->high_ns, tokens)));
	return object;
}

static json_t *finding_json(const struct explain_facts *facts, const struct finding *finding)
{
	json_t *object = json_object();
	struct finding_words words;

	finding_words(&words, facts, finding);
	json_put(object, "rule", json_text(finding_rule_id(finding->rule)));
	json_put(object, "phase", json_text(step_phase_name(finding->phase)));
	json_put(object, "what", json_text(words.what));
	json_put(object, "row",
		finding_row(facts, finding) ? json_text(finding_row(facts, finding)) : json_null());
	json_put(object, "cost_ns", json_number(finding->cost_ns));
	json_put(object, "cost_per_token_ns", json_rate(finding_cost_per_token_ns(facts, finding)));
	json_put(object, "share", json_rate(finding_share(finding)));
	json_put(object, "certainty", json_text(finding_certainty_name(finding->certainty)));
	if (finding->rule >= FINDING_excess_repeats)
		json_put(object, "expectation", expectation_json(facts, finding));
	json_put(object, "evidence", json_text(words.evidence));
	json_put(object, "try", json_text(words.advice));
	json_put(object, "expected_per_token_ns",
		words.expected_ns ? json_number(words.expected_ns) : json_null());
	if (*words.other)
		json_put(object, "or", other_json(facts, &words));
	json_put(object, "overlaps",
		finding->overlaps ? json_number(finding->overlaps) : json_null());
	json_put(object, "see", json_text(words.show));
	return object;
}

json_t *explain_to_json(
	const struct explain_facts *facts, const struct findings *findings, size_t shown)
{
	json_t *root = json_object(), *phases = json_array(), *list = json_array();

	json_put(root, "schema", json_text("brick/explain/2"));
	json_put(root, "rules", json_number(FINDING_RULES));
	json_put(root, "off_cpu_known",
		json_boolean(run_off_cpu_is_known(facts->run, 0, UINT64_MAX)));
	for (int p = 0; p < STEP_PHASES; p++)
		if (facts->phases[p].summary)
			json_add(phases, explain_view_phase_json(
						 &facts->phases[p], p, findings->explained_ns[p]));
	json_put(root, "phases", phases);
	json_put(root, "users", users_json(facts->run));
	for (size_t i = 0; i < shown; i++)
		json_add(list, finding_json(facts, &findings->list[i]));
	json_put(root, "findings", list);
	json_put(root, "left_out", json_number(findings->count - shown));
	return root;
}

/* The bytes that json_print() prints. */
static size_t printed_bytes(const json_t *root)
{
	return json_dumpb(root, NULL, 0, JSON_INDENT(2) | JSON_ENSURE_ASCII) + 1;
}

void explain_json(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	size_t shown = top && top < findings->count ? top : findings->count;
	json_t *root = explain_to_json(facts, findings, shown);

	while (shown && printed_bytes(root) > EXPLAIN_JSON_BYTES) {
		json_decref(root);
		root = explain_to_json(facts, findings, --shown);
	}
	json_print(root, out);
}
