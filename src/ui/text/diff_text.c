/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison for people: what is compared and in what it is unfair, then each phase as a sentence
 * whose parts add up, the verdict, and tables. Called by `brick diff`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/diff.h"
#include "ui/text/text.h"
#include "ui/text/terminal.h"

enum { LABEL = 13, PARTS = 6, NAME = 64 };

struct printer {
	const struct diff_view *view;
	const struct terminal *terminal;
};

/* ---- numbers ---- */

char *diff_effect(char out[UNITS_BYTES], double effect)
{
	if (effect >= 9)
		snprintf(out, UNITS_BYTES, "%.0f times slower", effect + 1);
	else
		snprintf(out, UNITS_BYTES, "%.1f%% %s", fabs(100 * effect),
			effect < 0 ? "faster" : "slower");
	return out;
}

char *diff_interval(char out[2 * UNITS_BYTES], const struct compare_row *row)
{
	/* Beyond this it says only that nothing is known. */
	if (!isfinite(row->low) || !isfinite(row->high) || row->high > 1000)
		return strcpy(out, "");
	snprintf(out, 2 * UNITS_BYTES, " (%+.1f..%+.1f)", 100 * row->low, 100 * row->high);
	return out;
}

/* ---- what is compared ---- */

static void print_side(const struct printer *p, bool is_b)
{
	const struct diff_origins *o = p->view->origins;
	const struct diff_origin *first = o->list + (is_b ? o->in_a : 0);
	size_t count = is_b ? o->in_b : o->in_a;
	SCOPED char *command = text_safe(first->command ? first->command : "(not known)");
	SCOPED char *cut = text_cut(command, 300);

	if (count == 1)
		say(p, is_b ? "B" : "A", "%s: %s", first->path, cut);
	else
		say(p, is_b ? "B" : "A", "%zu recordings, %s to %s: %s", count, first->path,
			first[count - 1].path, cut);
}

/*
 * What of `text` is not in `other`, too: without the words that both begin and end with. The caller
 * frees.
 */
static char *own_words(const char *text, const char *other)
{
	size_t length = strlen(text), with = strlen(other), begin = 0, same = 0, end = 0;

	while (same < length && same < with && text[same] == other[same])
		if (text[same++] == ' ')
			begin = same;
	while (end < length - begin && end < with - begin &&
		text[length - 1 - end] == other[with - 1 - end])
		end++;
	while (end && text[length - end] != ' ')
		end--;
	return text_format("%s%.*s%s", begin ? "... " : "", (int)(length - begin - end),
		text + begin, end ? " ..." : "");
}

static void print_differences(const struct printer *p, bool unfair)
{
	const struct diff_origins *o = p->view->origins;
	const char *label = unfair ? "UNFAIR" : "Differs";

	terminal_begin(p->terminal, unfair ? STYLE_WARN : STYLE_PLAIN);
	for (size_t i = 0; i < o->differences.count; i++) {
		const struct diff_difference *d = &o->differences.items[i];
		if (d->unfair != unfair)
			continue;
		SCOPED char *of_a = d->key ? own_words(d->a, d->b) : text_copy(d->a);
		SCOPED char *of_b = d->key ? own_words(d->b, d->a) : text_copy("");
		SCOPED char *a = text_cut(of_a, 200), *b = text_cut(of_b, 200);
		if (d->key)
			say(p, label, "%s: A has %s, B has %s", d->key, a, b);
		else
			say(p, label, "%s", a);
		label = "";
	}
	terminal_end(p->terminal, unfair ? STYLE_WARN : STYLE_PLAIN);
}

static void print_unit(const struct printer *p)
{
	const struct compare *c = p->view->compare;
	const struct diff_origins *o = p->view->origins;
	const struct compare_phase *decode = &c->phases[STEP_DECODE];

	if (c->unit == COMPARE_RECORDINGS)
		say(p, "Compared by", "recordings: %zu of A, %zu of B", o->in_a, o->in_b);
	else
		say(p, "Compared by",
			"stretches of steps within the recordings: %zu of A, %zu of B are too few. "
			"How much a program differs from one start to the next is in none of "
			"these intervals; 4 recordings a side, in turns, would say it. Without "
			"them only --threshold lets anything be called slower or faster",
			o->in_a, o->in_b);
	if (c->basis == BASIS_CPU)
		say(p, "Off CPU",
			"bricks and layers have their time on the CPU, but for waits; what the "
			"steps' threads were off it are rows of their own");
	else if (c->basis == BASIS_MIXED)
		say(p, "Off CPU",
			"not known of all of these, whose bricks have it in their times: none is "
			"called slower or faster");
	if (p->view->floor > 0)
		say(p, "Floor",
			"identical runs on this machine differed by %.1f%% (brick bench --floor)",
			100 * p->view->floor);
	if (decode->steps)
		say(p, "Decode steps", "the first %llu of each recording, which all have",
			(unsigned long long)decode->steps);
}

/* ---- sentences ---- */

static void add_part(char **text, const char *name, double points)
{
	char safe[NAME];

	text_escape(safe, sizeof(safe), name);
	text_append(text, ", ", "%s %+.1f", safe, 100 * points);
}

/* "FlashAttention +2.7, GateProjection +0.3, others +0.1"; adds up. The caller frees. */
static char *parts_of(const struct compare *c, int phase)
{
	char *text = text_copy("");
	double others = 0;
	int shown = 0;

	for (size_t i = 0; i < c->row_count; i++) {
		const struct compare_row *row = &c->rows[i];
		if (row->phase != phase || isnan(row->points))
			continue;
		if (shown < PARTS && fabs(row->points) >= 0.0005) {
			add_part(&text, row->name, row->points);
			shown++;
		} else {
			others += row->points;
		}
	}
	if (fabs(others) >= 0.0005)
		add_part(&text, "others", others);
	if (fabs(c->phases[phase].residual) >= 0.0005)
		add_part(&text, "left over", c->phases[phase].residual);
	return text;
}

char *diff_sentence(double threshold, const struct compare_row *row)
{
	char effect[UNITS_BYTES], interval[2 * UNITS_BYTES];

	diff_effect(effect, row->effect);
	diff_interval(interval, row);
	if (row->verdict == COMPARE_SLOWER || row->verdict == COMPARE_FASTER)
		return text_format("%s%s", effect, interval);
	if (row->verdict == COMPARE_SAME)
		return text_format("same within %.3g%%%s", 100 * threshold, interval);
	if (isnan(row->effect) || !*interval)
		return text_copy("not enough data");
	if (isfinite(row->detectable) && row->detectable < 10)
		return text_format("not enough data, %s%s, %.1f%% would have been seen", effect,
			interval, 100 * row->detectable);
	return text_format("not enough data, %s%s", effect, interval);
}

static enum terminal_style style_of(enum compare_verdict verdict)
{
	return verdict == COMPARE_SLOWER   ? STYLE_BAD
	       : verdict == COMPARE_FASTER ? STYLE_GOOD
					   : STYLE_PLAIN;
}

static void print_time(
	const struct printer *p, const char *label, const char *what, const struct compare_row *row)
{
	const struct compare *c = p->view->compare;
	char a[UNITS_BYTES], b[UNITS_BYTES];
	SCOPED char *parts =
		row->phase < 0 || isnan(row->effect) ? text_copy("") : parts_of(c, row->phase);
	SCOPED char *said = diff_sentence(c->threshold, row);

	say_in(p, style_of(row->verdict), label, "%s in A, %s in B%s: %s%s%s",
		units_time(a, (uint64_t)row->a), units_time(b, (uint64_t)row->b), what, said,
		*parts ? ": " : "", parts);
}

static void print_rate(const struct printer *p, const struct compare_row *row)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	SCOPED char *said = diff_sentence(p->view->compare->threshold, row);

	say(p, "", "%s tokens/s in A, %s in B, all steps: %s", units_number(a, 1e9 / row->a),
		units_number(b, 1e9 / row->b), said);
}

static void print_whole(const struct printer *p)
{
	static const char *const labels[STEP_PHASES] = {
		[STEP_PREFILL] = "Prefill", [STEP_DECODE] = "Decode", [STEP_MIXED] = "Mixed"};
	static const int order[] = {STEP_DECODE, STEP_PREFILL, STEP_MIXED};
	const struct compare *c = p->view->compare;
	const struct compare_row *ttft = compare_find(c, -1, COMPARE_TTFT);

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const struct compare_row *time = compare_find(c, order[i], COMPARE_TIME);
		if (!time)
			continue;
		print_time(p, labels[order[i]], " a token", time);
		print_rate(p, compare_find(c, order[i], COMPARE_RATE));
	}
	if (ttft)
		print_time(p, "First token", "", ttft);
}

static void print_verdict(const struct printer *p)
{
	const struct compare *c = p->view->compare;

	terminal_begin(p->terminal, style_of(c->verdict));
	if (c->verdict == COMPARE_SAME)
		say(p, "Verdict", "B is the same as A within %.3g%%%s", 100 * c->threshold,
			c->unit == COMPARE_STRETCHES ? ", as far as there are intervals" : "");
	else if (c->verdict == COMPARE_UNSURE)
		say(p, "Verdict", "not enough data to say that B is slower, faster or the same");
	else
		say(p, "Verdict", "B is %s than A", compare_verdict_name(c->verdict));
	terminal_end(p->terminal, style_of(c->verdict));
}

void diff_text(const struct diff_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	print_differences(&p, true);
	print_side(&p, false);
	print_side(&p, true);
	print_differences(&p, false);
	print_unit(&p);
	fputc('\n', out);
	print_whole(&p);
	print_verdict(&p);
	diff_rows(view, &terminal);
}

void diff_measures(const struct diff_view *view, FILE *out)
{
	struct terminal terminal;
	const struct printer p = {view, &terminal};

	terminal_init(&terminal, out);
	print_differences(&p, true);
	print_differences(&p, false);
	print_whole(&p);
	diff_rows(view, &terminal);
	fputc('\n', out);
}
