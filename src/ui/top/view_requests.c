/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests, the last one first: first token, tokens, gaps between them, and why the longest was
 * long. A live picture has the last moments only: a request that began before them has no first
 * token, and lacks some of its tokens.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/statistics/unknown.h"
#include "ui/text/requests_view.h"
#include "ui/text/text.h"
#include "ui/top/top_view.h"

static const struct grid_column view_requests_columns[] = {{"REQUEST", GRID_TEXT, 0},
	{"MODEL", GRID_NUMBER, 7}, {"SEQUENCE", GRID_NUMBER, 5}, {"BEGAN AFTER", GRID_NUMBER, 6},
	{"QUEUED", GRID_NUMBER, 4}, {"TTFT", GRID_NUMBER, 0}, {"PROMPT", GRID_NUMBER, 2},
	{"OUTPUT", GRID_NUMBER, 1}, {"/TOKEN", GRID_NUMBER, 0}, {"P99", GRID_NUMBER, 3},
	{"MAX", GRID_NUMBER, 2}, {"WHY", GRID_TEXT, 1}};

/* True if it began before the time that the picture has. */
static bool is_cut(const struct picture *p, const struct request *r)
{
	return p->live && (r->reuse == REQUEST_REUSE_BEFORE || !r->prompt_tokens);
}

static void add_count(struct grid_row *row, uint64_t count, bool is_known)
{
	char text[UNITS_BYTES];

	grid_cell(row, is_known ? units_count(text, count) : "-", is_known ? (double)count : -1);
}

static const struct request_gap *longest(const struct requests *q, const struct request *r)
{
	const struct request_gap *found = NULL;

	for (uint32_t i = 0; i < r->gap_count; i++) {
		const struct request_gap *gap = &q->gaps[r->gap_first + i];
		if (gap->cause && (!found || gap->excess_ns > found->excess_ns))
			found = gap;
	}
	return found;
}

static void view_requests_add_row(struct grid *grid, const struct picture *p, uint32_t index)
{
	const struct requests *q = p->requests;
	const struct request *r = &q->list[index];
	const struct request_gap *gap = longest(q, r);
	struct grid_row *row = grid_add(grid);
	bool cut = is_cut(p, r);
	char name[64], number[UNITS_BYTES];

	/* a number of the program's, or of a recording, is the same in the next picture */
	if (p->live && !q->are_numbered)
		snprintf(name, sizeof(name), "%" PRIu32 "/%" PRId32 " at %s", r->model, r->sequence,
			units_time(number, r->begin_ns - p->run->start_ns));
	else
		snprintf(name, sizeof(name), "%" PRIu64, request_number(q, index));
	grid_cell(row, name, index);
	add_count(row, r->model, true);
	add_count(row, (uint64_t)r->sequence, true);
	grid_time(row, cut ? ANALYSIS_UNKNOWN : r->begin_ns - p->run->start_ns);
	grid_time(row, cut ? ANALYSIS_UNKNOWN : request_queue_ns(r));
	grid_time(row, cut ? ANALYSIS_UNKNOWN : request_ttft_ns(r));
	add_count(row, r->prompt_tokens, !cut);
	add_count(row, r->output_tokens, !cut);
	grid_time(row, request_token_ns(q, r));
	grid_time(row, r->p99_ns);
	grid_time(row, r->max_ns);
	grid_cell(row, gap ? requests_cause(gap->cause) : "", gap ? (double)gap->excess_ns : 0);
}

static void requests_make(struct grid *grid, struct top *top)
{
	const struct requests *q = picture_requests(top->picture);

	grid_init(grid, view_requests_columns,
		sizeof(view_requests_columns) / sizeof(*view_requests_columns));
	for (size_t i = q ? q->count : 0; i-- > 0;)
		view_requests_add_row(grid, top->picture, (uint32_t)i);
	grid_arrange(grid, top_place(top));
}

static void requests_draw(struct top *top, struct canvas *canvas, int y, int height)
{
	const struct requests *q = picture_requests(top->picture);

	if (!q) {
		view_draw_nothing(canvas, y, "No step says whose tokens it evaluates.");
		return;
	}
	canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL, "%zu request%s%s", q->count,
		plural_s(q->count), top->picture->live ? " in the last moments" : "");
	view_draw_table(&view_requests, top, canvas, y + 1, height - 1);
}

static bool are_there(struct top *top)
{
	return top->picture && picture_requests(top->picture);
}

const struct view_class view_requests = {
	.name = "requests",
	.title = "Requests",
	.is_there = are_there,
	.draw = requests_draw,
	.make = requests_make,
};
