/* SPDX-License-Identifier: Apache-2.0 */
/* Columns end at times of the job, which each rank's parts meet by the rank's own clock. */
#include "analysis/ranks/rank_strip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rank_strip_init(struct rank_strip *strip, int64_t from_ns, uint64_t path_ns)
{
	uint64_t column_ns = path_ns / RANK_STRIP_COLUMNS + (path_ns % RANK_STRIP_COLUMNS != 0);

	if (!path_ns)
		return 0;
	*strip = (struct rank_strip){.from_ns = from_ns,
		.column_ns = column_ns,
		.columns = (uint32_t)((path_ns - 1) / column_ns + 1)};
	strip->exchange_ns = calloc(strip->columns, sizeof(*strip->exchange_ns));
	strip->message_ns = calloc(strip->columns, sizeof(*strip->message_ns));
	return strip->exchange_ns && strip->message_ns ? 0 : -ENOMEM;
}

void rank_strip_fini(struct rank_strip *strip)
{
	free(strip->exchange_ns);
	free(strip->message_ns);
}

/* The last column has no end of its own. */
static int64_t rank_strip_end(const struct rank_strip *strip, uint32_t column)
{
	return column + 1 < strip->columns
		       ? strip->from_ns + (int64_t)(strip->column_ns * (column + 1))
		       : INT64_MAX;
}

void rank_strip_add(const struct rank_strip *strip, double *columns, int64_t from, int64_t to)
{
	uint64_t column = ((uint64_t)from - (uint64_t)strip->from_ns) / strip->column_ns;

	for (uint32_t i = column < strip->columns ? (uint32_t)column : strip->columns - 1;
		from < to; i++) {
		int64_t end = rank_strip_end(strip, i);
		end = end < to ? end : to;
		columns[i] += (double)end - (double)from;
		from = end;
	}
}

static void rank_strip_cut_move(struct rank_strip_cut *cut, uint32_t column)
{
	const struct rank_strip *strip = &cut->job->strip;
	int64_t end = rank_strip_end(strip, column);

	cut->column = column;
	cut->end_ns = end == INT64_MAX ? UINT64_MAX
				       : rank_clock_own(&cut->job->clocks[cut->row->clock], end);
}

int rank_strip_cut_begin(
	struct rank_strip_cut *cut, const struct rank_job *job, struct rank_row *row)
{
	*cut = (struct rank_strip_cut){.job = job, .row = row};
	if (!row->path.count)
		return 0;
	row->strip = calloc(job->strip.columns, sizeof(*row->strip));
	cut->brick_ns = calloc((size_t)job->ordered_bricks + 1, sizeof(*cut->brick_ns));
	if (!row->strip || !cut->brick_ns) {
		free(cut->brick_ns);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < job->strip.columns; i++)
		row->strip[i].brick = RUN_NONE;
	rank_strip_cut_move(cut, 0);
	return 0;
}

/* Names the brick of a column that is complete. */
static void rank_strip_cut_name(struct rank_strip_cut *cut)
{
	uint32_t bricks = cut->job->ordered_bricks, most = bricks;

	if (!cut->row->strip[cut->column].ns)
		return;
	for (uint32_t i = 0; i < bricks; i++)
		most = cut->brick_ns[i] > cut->brick_ns[most] ? i : most;
	cut->row->strip[cut->column].brick = most < bricks ? most : RUN_NONE;
	memset(cut->brick_ns, 0, ((size_t)bricks + 1) * sizeof(*cut->brick_ns));
}

void rank_strip_cut_add(
	struct rank_strip_cut *cut, uint64_t from, uint64_t to, uint32_t brick, bool is_work)
{
	const struct rank_strip *strip = &cut->job->strip;

	while (from < to) {
		while (from >= cut->end_ns && cut->column + 1 < strip->columns) {
			rank_strip_cut_name(cut);
			rank_strip_cut_move(cut, cut->column + 1);
		}
		uint64_t end = cut->end_ns < to && cut->end_ns > from ? cut->end_ns : to;
		if (is_work) {
			cut->row->strip[cut->column].ns += end - from;
			cut->brick_ns[brick == RUN_NONE ? cut->job->ordered_bricks : brick] +=
				(double)(end - from);
		} else {
			strip->exchange_ns[cut->column] += (double)(end - from);
		}
		from = end;
	}
}

void rank_strip_cut_end(struct rank_strip_cut *cut)
{
	if (cut->brick_ns)
		rank_strip_cut_name(cut);
	free(cut->brick_ns);
}
