/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the verdict on the whole, from which every view makes its sentence and its exit code. Of
 * the rows of the metric, the first row that differs decides. By default these are all rows of the
 * whole, in the order of the table below. Decode's tokens/s come before its typical steps, which
 * disturbances do not reach. A number that plain runs print decides alone.
 */
#include "analysis/compare/compare.h"

#include <math.h>
#include <stdint.h>

/* The order in which rows decide. A new measure of the whole goes here and into COMPARE_PLACES. */
static const struct place {
	enum compare_metric metric;
	enum compare_measure measure;
	int phase;
} order[COMPARE_PLACES] = {
	{COMPARE_BY_PRINTED, COMPARE_PRINTED, -1},
	{COMPARE_BY_DECODE, COMPARE_RATE, STEP_DECODE},
	{COMPARE_BY_DECODE, COMPARE_TIME, STEP_DECODE},
	{COMPARE_BY_OTHER, COMPARE_RATE, STEP_OTHER},
	{COMPARE_BY_OTHER, COMPARE_TIME, STEP_OTHER},
	{COMPARE_BY_WALL, COMPARE_WALL, -1},
	{COMPARE_BY_PREFILL, COMPARE_RATE, STEP_PREFILL},
	{COMPARE_BY_PREFILL, COMPARE_TIME, STEP_PREFILL},
	{COMPARE_BY_MIXED, COMPARE_RATE, STEP_MIXED},
	{COMPARE_BY_MIXED, COMPARE_TIME, STEP_MIXED},
	{COMPARE_BY_FIRST_TOKEN, COMPARE_TTFT, -1},
	{COMPARE_BY_DECODE, COMPARE_ELAPSED, STEP_DECODE},
	{COMPARE_BY_PREFILL, COMPARE_ELAPSED, STEP_PREFILL},
	{COMPARE_BY_MIXED, COMPARE_ELAPSED, STEP_MIXED},
	{COMPARE_BY_OTHER, COMPARE_ELAPSED, STEP_OTHER},
};

const struct compare_row *compare_find(
	const struct compare *compare, int phase, enum compare_measure measure)
{
	for (size_t i = 0; i < compare->row_count; i++)
		if (compare->rows[i].phase == phase && compare->rows[i].measure == measure)
			return &compare->rows[i];
	return NULL;
}

size_t compare_order(const struct compare_row *row)
{
	for (size_t i = 0; i < COMPARE_PLACES && !row->name; i++)
		if (row->measure == order[i].measure && row->phase == order[i].phase)
			return i;
	return SIZE_MAX;
}

/* The row of a place; NULL: there is none, or its effect is not known. */
static const struct compare_row *verdict_row_at(const struct compare *c, size_t place)
{
	const struct compare_row *row = compare_find(c, order[place].phase, order[place].measure);

	return row && !isnan(row->difference.effect) ? row : NULL;
}

/* A user that has the program print a number asks for that number. */
static enum compare_metric metric_of(const struct compare *c, enum compare_metric metric)
{
	return metric == COMPARE_BY_DEFAULT && verdict_row_at(c, 0) ? COMPARE_BY_PRINTED : metric;
}

static bool is_asked(enum compare_metric metric, size_t place)
{
	return metric == COMPARE_BY_DEFAULT || order[place].metric == metric;
}

static const struct compare_row *deciding(const struct compare *c, enum compare_metric metric)
{
	const struct compare_row *first = NULL;

	for (size_t i = 0; i < COMPARE_PLACES; i++) {
		const struct compare_row *row = is_asked(metric, i) ? verdict_row_at(c, i) : NULL;
		if (row && difference_differs(&row->difference))
			return row;
		first = first ? first : row;
	}
	return first;
}

void compare_judge(struct compare *c, enum compare_metric metric)
{
	c->by = deciding(c, metric_of(c, metric));
	c->verdict = c->by && !c->is_disturbed ? c->by->difference.verdict : COMPARE_UNSURE;
	c->is_mixed = false;
	for (size_t i = 0; i < COMPARE_PLACES && c->verdict != COMPARE_UNSURE &&
			   difference_differs(&c->by->difference);
		i++) {
		const struct compare_row *row = verdict_row_at(c, i);
		c->is_mixed |= row && difference_differs(&row->difference) &&
			       row->difference.verdict != c->verdict;
	}
}

bool compare_is_settled(const struct compare *c, enum compare_metric metric, bool all)
{
	bool any = false, is_decided = false;

	metric = metric_of(c, metric);
	for (size_t i = 0; i < COMPARE_PLACES; i++) {
		const struct compare_row *row = verdict_row_at(c, i);
		bool differs = row && difference_differs(&row->difference);
		bool is_told = differs || (row && row->difference.verdict == COMPARE_SAME);
		if (!row)
			continue;
		if (!is_told && (is_asked(metric, i) ? !is_decided || all : all))
			return false;
		any |= is_asked(metric, i);
		is_decided |= is_asked(metric, i) && differs;
	}
	return any;
}

const char *compare_metric_name(enum compare_metric metric)
{
	static const char *const names[] = {
		[COMPARE_BY_DEFAULT] = "default",
		[COMPARE_BY_PRINTED] = "printed",
		[COMPARE_BY_DECODE] = "decode",
		[COMPARE_BY_WALL] = "wall",
		[COMPARE_BY_PREFILL] = "prefill",
		[COMPARE_BY_MIXED] = "mixed",
		[COMPARE_BY_FIRST_TOKEN] = "first-token",
		[COMPARE_BY_OTHER] = "other",
	};

	return (size_t)metric < sizeof(names) / sizeof(*names) ? names[metric] : NULL;
}
