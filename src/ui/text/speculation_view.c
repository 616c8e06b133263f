/* SPDX-License-Identifier: Apache-2.0 */
/* Speculative decoding for people and as JSON (speculation_view.h). */
#include "ui/text/speculation_view.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/statistics/unknown.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

static const struct table_column speculation_view_columns[] = {{"  DRAFTS", TABLE_RIGHT, 0},
	{"PROPOSED", TABLE_RIGHT, 0}, {"HELD", TABLE_RIGHT, 0}, {"SHARE", TABLE_RIGHT, 0},
	{"CHECKED IN", TABLE_RIGHT, 1}, {"MODELLED /TOKEN", TABLE_RIGHT, 1}};

static uint64_t each(uint64_t sum, uint64_t count)
{
	return count && sum != ANALYSIS_UNKNOWN ? sum / count : ANALYSIS_UNKNOWN;
}

static uint64_t modelled_ns(const struct speculation_position *p)
{
	return p->modelled_token_ns < 0 ? ANALYSIS_UNKNOWN : (uint64_t)p->modelled_token_ns;
}

static uint64_t rest_ns(const struct speculation *s)
{
	uint64_t back = s->rollback_ns == ANALYSIS_UNKNOWN ? 0 : s->rollback_ns;
	uint64_t known = s->draft_ns + s->verify_ns + back;

	return s->cycle_ns > known ? s->cycle_ns - known : 0;
}

static void print_times(const struct speculation *s, const struct terminal *terminal)
{
	char cycle[UNITS_BYTES], draft[UNITS_BYTES], verify[UNITS_BYTES], back[UNITS_BYTES];
	char rest[UNITS_BYTES], tokens[UNITS_BYTES];
	const char *drafting = s->draft_steps ? "drafting " : "", *end = s->draft_steps ? ", " : "";

	if (s->shared)
		paragraph(terminal, 2, "",
			"%" PRIu64 " of these steps held tokens of other requests: the times below "
			"leave them out",
			s->shared);
	if (!s->cycles)
		return;
	paragraph(terminal, 2, "",
		"From token to token %s on average, for %s tokens: %s%s%schecking drafts %s, "
		"giving cells back %s, the rest %s",
		units_time(cycle, each(s->cycle_ns, s->cycles)),
		units_number(tokens, known_ratio(s->tokens, s->cycles)), drafting,
		s->draft_steps ? units_time(draft, each(s->draft_ns, s->cycles)) : "", end,
		units_time(verify, each(s->verify_ns, s->cycles)),
		s->rollback_ns == ANALYSIS_UNKNOWN
			? "not known"
			: units_time(back, each(s->rollback_ns, s->cycles)),
		units_time(rest, each(rest_ns(s), s->cycles)));
}

static void print_gain(const struct speculation *s, const struct terminal *terminal)
{
	char with[UNITS_BYTES], plain[UNITS_BYTES], times[UNITS_BYTES], must[UNITS_BYTES];
	double fast = known_ratio(s->plain_ns * s->tokens, s->cycle_ns * s->plain_tokens);

	if (!s->tokens)
		return;
	units_time(with, each(s->cycle_ns, s->tokens));
	if (!s->plain_tokens) {
		paragraph(terminal, 2, "",
			"A token takes %s with drafts; without, it is not known: nothing was "
			"decoded without drafts",
			with);
		return;
	}
	SCOPED char *pays = s->break_even > 1 ? text_copy("would not pay even if all of them held")
					      : text_format("pay if %s of them hold",
							units_percent(must, s->break_even));
	paragraph(terminal, 2, "",
		"A token takes %s with drafts and %s without (%" PRIu64
		" tokens): %s x as fast; drafts %s",
		with, units_time(plain, each(s->plain_ns, s->plain_tokens)), s->plain_tokens,
		units_number(times, fast), pays ? pays : "");
}

static void speculation_view_print_best(
	const struct speculation *s, const struct terminal *terminal)
{
	char ns[UNITS_BYTES];

	if (s->again) {
		paragraph(terminal, 2, "",
			"After %" PRIu64
			" of these steps the model went back to a saved state and evaluated again "
			"what held; no other length of drafts is modelled",
			s->again);
		return;
	}
	if (s->best == RUN_NONE) {
		paragraph(terminal, 2, "",
			"Which length of drafts would be best is not known: too few lengths were "
			"seen");
		return;
	}
	units_time(ns, modelled_ns(&s->of[s->best]));
	if (!s->best)
		paragraph(terminal, 2, "", "Modelled: no drafts would be best, %s a token", ns);
	else
		paragraph(terminal, 2, "",
			"Modelled: at most %" PRIu32 " drafts would be best, %s a token%s", s->best,
			ns, s->best == s->position_count ? " (longer ones were not seen)" : "");
}

void speculation_text(
	const struct run *run, const struct speculations *all, const struct terminal *terminal)
{
	char checked[UNITS_BYTES], held[UNITS_BYTES], percent[UNITS_BYTES];

	for (size_t i = 0; i < all->count; i++) {
		const struct speculation *s = &all->list[i];
		const char *name = run_model_name(run, s->process, s->model);
		fputc('\n', terminal->out);
		paragraph(terminal, 0, "",
			"Speculative decoding%s%s: %s drafts in %" PRIu64 " step%s, %s held (%s)",
			name ? ", " : "", name ? name : "", units_count(checked, s->proposed),
			s->verifications, plural_s(s->verifications),
			units_count(held, s->accepted),
			units_percent(percent, known_ratio(s->accepted, s->proposed)));
		struct table *table = table_create(speculation_view_columns,
			sizeof(speculation_view_columns) / sizeof(*speculation_view_columns));
		for (uint32_t k = 0; k <= s->position_count; k++) {
			const struct speculation_position *p = &s->of[k];
			if (!k && p->verify_ns == ANALYSIS_UNKNOWN)
				continue;
			table_row(table, STYLE_PLAIN);
			table_format(table, "%" PRIu32, k);
			table_count(table, k ? p->proposed : ANALYSIS_UNKNOWN);
			table_count(table, k ? p->accepted : ANALYSIS_UNKNOWN);
			table_percent(table, k ? known_ratio(p->accepted, p->proposed) : -1);
			table_time(table, p->verify_ns);
			table_time(table, modelled_ns(p));
		}
		table_print(table, terminal);
		table_destroy(table);
		print_times(s, terminal);
		print_gain(s, terminal);
		speculation_view_print_best(s, terminal);
	}
}

static json_t *positions_json(const struct speculation *s)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i <= s->position_count; i++) {
		const struct speculation_position *p = &s->of[i];
		json_t *o = json_object();
		json_put(o, "drafts", json_number(i));
		json_put(o, "proposed", json_number(i ? p->proposed : ANALYSIS_UNKNOWN));
		json_put(o, "held", json_number(i ? p->accepted : ANALYSIS_UNKNOWN));
		json_put(o, "verify_ns", json_number(p->verify_ns));
		json_put(o, "modelled_token_ns", json_rate(p->modelled_token_ns));
		json_add(list, o);
	}
	return list;
}

json_t *speculation_to_json(const struct run *run, const struct speculations *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->count; i++) {
		const struct speculation *s = &all->list[i];
		bool is_known = s->cycles > 0;
		json_t *o = json_object();
		json_put(o, "pid", json_number(run->processes[s->process].pid));
		json_put(o, "model", json_number(s->model));
		json_put(o, "model_name", json_text(run_model_name(run, s->process, s->model)));
		json_put(o, "verifications", json_number(s->verifications));
		json_put(o, "proposed_tokens", json_number(s->proposed));
		json_put(o, "held_tokens", json_number(s->accepted));
		json_put(o, "shared_verifications", json_number(s->shared));
		json_put(o, "draft_steps", json_number(s->draft_steps));
		json_put(o, "cycles", json_number(s->cycles));
		json_put(o, "cycle_tokens", json_number(s->tokens));
		json_put(o, "cycle_ns", json_number(is_known ? s->cycle_ns : ANALYSIS_UNKNOWN));
		json_put(o, "draft_ns", json_number(is_known ? s->draft_ns : ANALYSIS_UNKNOWN));
		json_put(o, "verify_ns", json_number(is_known ? s->verify_ns : ANALYSIS_UNKNOWN));
		json_put(o, "rollback_ns",
			json_number(is_known ? s->rollback_ns : ANALYSIS_UNKNOWN));
		json_put(o, "token_ns", json_number(each(s->cycle_ns, s->tokens)));
		json_put(o, "plain_tokens", json_number(s->plain_tokens));
		json_put(o, "plain_token_ns", json_number(each(s->plain_ns, s->plain_tokens)));
		json_put(o, "break_even_share", json_rate(s->break_even));
		json_put(o, "modelled_best_drafts",
			json_number(s->best == RUN_NONE ? ANALYSIS_UNKNOWN : s->best));
		json_put(o, "by_drafts", positions_json(s));
		json_add(list, o);
	}
	return list;
}
