/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence says one thing of each phase: single measures that repeat its tokens/s are left out.
 */
#include "ui/text/verdict_text.h"

#include <math.h>
#include <stdlib.h>

#include "ui/text/difference_text.h"
#include "ui/text/phase_text.h"
#include "ui/text/text.h"

char *verdict_row_name(const struct compare_row *row)
{
	const char *phase = phase_label(row->phase);

	switch (row->measure) {
	case COMPARE_TTFT:
		return text_copy("first token");
	case COMPARE_TIME:
		return row->phase == STEP_OTHER ? text_copy("a typical step")
						: text_format("%s, a typical token", phase);
	case COMPARE_RATE:
		return row->phase == STEP_OTHER ? text_copy("steps/s")
						: text_format("%s tokens/s", phase);
	case COMPARE_ELAPSED:
		return text_format("%s, time between too", phase);
	case COMPARE_WALL:
		return text_copy("wall time");
	case COMPARE_PRINTED:
		return text_copy("what it printed");
	default:
		return text_copy(row->name);
	}
}

const struct compare_row *verdict_row(const struct compare *c, size_t place)
{
	for (size_t i = 0; i < c->row_count; i++)
		if (compare_order(&c->rows[i]) == place)
			return &c->rows[i];
	return NULL;
}

/* True if the tokens/s of the row's phase have the same verdict. */
static bool verdict_text_is_told(const struct compare *c, const struct compare_row *row)
{
	int phase = row->measure == COMPARE_TTFT ? STEP_PREFILL : row->phase;
	bool is_single = row->measure == COMPARE_TTFT || row->measure == COMPARE_TIME ||
			 row->measure == COMPARE_ELAPSED;
	const struct compare_row *rate = compare_find(c, phase, COMPARE_RATE);

	return is_single && rate && rate->difference.verdict == row->difference.verdict;
}

/* Without the unit: "decode 3.2x". The caller frees. */
static char *brief(const struct compare_row *row)
{
	char size[DIFFERENCE_BYTES];
	SCOPED char *name = verdict_row_name(row);

	difference_size(size, &row->difference);
	return row->measure == COMPARE_RATE   ? text_format("%s %s", phase_label(row->phase), size)
	       : row->measure == COMPARE_WALL ? text_format("wall %s", size)
					      : text_format("%s %s", name, size);
}

/* All rows but `by` that differ: "prefill 0.65x, wall -38 %"; NULL: there are none. */
static char *verdict_text_others(const struct compare *c)
{
	const struct compare_row *row;
	char *text = NULL;

	for (size_t i = 0; i < COMPARE_PLACES; i++) {
		row = verdict_row(c, i);
		if (!row || row == c->by || !difference_differs(&row->difference) ||
			verdict_text_is_told(c, row))
			continue;
		SCOPED char *said = brief(row);
		text_append(&text, ", ", "%s", said);
	}
	return text;
}

/* Names rows before the deciding row that do not differ: "; decode tokens/s: same within 1 %". */
static char *first_text(const struct compare *c)
{
	for (size_t i = 0; i < compare_order(c->by); i++) {
		const struct compare_row *row = verdict_row(c, i);
		if (!row || isnan(row->difference.effect) || difference_differs(&row->difference))
			continue;
		SCOPED char *name = verdict_row_name(row);
		SCOPED char *said = difference_text(&row->difference);
		return text_format("; %s: %s", name, said);
	}
	return text_copy("");
}

static char *judged_text(const struct compare *c, const char *name)
{
	const char *verdict = compare_verdict_name(c->verdict);
	SCOPED char *rest = verdict_text_others(c), *first = first_text(c);
	SCOPED char *said = difference_text(&c->by->difference);

	if (c->is_mixed) {
		SCOPED char *own = brief(c->by);
		return text_format("mixed: %s %s%s%s; by %s B is %s than A", own, verdict,
			rest ? ", " : "", rest ? rest : "", name, verdict);
	}
	return text_format("B is %s than A by %s: %s%s%s%s", verdict, name, said,
		rest ? "; also " : "", rest ? rest : "", first);
}

char *verdict_text(const struct compare *c)
{
	const struct difference *d = c->by ? &c->by->difference : NULL;
	SCOPED char *name = d ? verdict_row_name(c->by) : NULL;
	SCOPED char *said = d ? difference_text(d) : NULL;
	char sees[DIFFERENCE_BYTES];

	if (!d)
		return text_copy("not enough data: what is asked for is not known of A and B");
	if (c->is_disturbed)
		return text_format("no verdict: other programs disturbed %zu of %zu runs of A and "
				   "%zu of %zu of B; by %s they show %s; run again on a quiet "
				   "machine (--disturbed judges these all the same)",
			c->runs[0].disturbed, c->runs[0].recorded + c->runs[0].plain,
			c->runs[1].disturbed, c->runs[1].recorded + c->runs[1].plain, name, said);
	if (difference_differs(d))
		return judged_text(c, name);
	if (d->verdict == COMPARE_SAME)
		return text_format("B is the same as A by %s: %s", name, said);
	if (d->verdict == COMPARE_BEYOND)
		return text_format("B is not judged by %s: %s", name, said);
	difference_sees(sees, d);
	return text_format("not enough data to say that B is slower, faster or the same by %s: "
			   "%s%s%s%s%s",
		name, said,
		*sees && c->assumes ? "; with so few runs"
		: *sees		    ? ";"
				    : "",
		*sees ? " only a difference of about " : "", sees, *sees ? " or more shows" : "");
}

enum terminal_style verdict_style(const struct compare *c)
{
	return c->is_mixed ? STYLE_WARN : difference_style(c->verdict);
}
