/* SPDX-License-Identifier: Apache-2.0 */
/* The view of threads (and queues): how much of its time each worked, waited, and did nothing. */
#include <stdlib.h>

#include "view/text.h"
#include "view/units.h"
#include "tui/top.h"

enum { NAME, WORKED, BAR, WORK, WAITED, WAIT, SHARE, COUNT, COLUMNS };

static const struct grid_column columns[COLUMNS] = {
	[NAME] = {"THREAD", GRID_TEXT, 0},
	[WORKED] = {"WORKED", GRID_NUMBER, 0},
	[BAR] = {"", GRID_BAR, 5},
	[WORK] = {"WORK", GRID_NUMBER, 2},
	[WAITED] = {"WAITED", GRID_NUMBER, 0},
	[WAIT] = {"WAIT", GRID_NUMBER, 3},
	[SHARE] = {"OF STEPS", GRID_NUMBER, 1},
	[COUNT] = {"COUNT", GRID_NUMBER, 4},
};

/* The time that a lane's rows are of: its life, or the part of it whose samples are here. */
static uint64_t span_ns(const struct picture *p, const struct run_lane *lane)
{
	uint64_t begin_ns = lane->start_ns, end_ns = lane->end_ns;
	if (p->live && lane->sample_count) {
		begin_ns = lane->samples[0].begin_ns;
		end_ns = begin_ns;
		for (size_t i = 0; i < lane->sample_count; i++)
			if (lane->samples[i].end_ns > end_ns)
				end_ns = lane->samples[i].end_ns;
	}
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void add_row(struct grid *grid, const struct picture *p, const struct summary_row *from)
{
	struct grid_row *row = grid_add(grid);
	uint64_t ns = span_ns(p, &p->run->lanes[from->id]);
	double worked = ns ? (double)from->self_ns / (double)ns : -1;
	double waited = ns ? (double)from->wait_ns / (double)ns : -1;
	char text[UNITS_BYTES];
	char *name = text_safe(from->name);
	grid_cell(row, NAME, name, 0);
	grid_cell(row, WORKED, units_percent(text, worked), worked);
	grid_cell(row, BAR, "", worked);
	grid_cell(row, WORK, units_time(text, from->self_ns), (double)from->self_ns);
	grid_cell(row, WAITED, units_percent(text, waited), waited);
	grid_cell(row, WAIT, units_time(text, from->wait_ns), (double)from->wait_ns);
	grid_cell(row, SHARE, units_percent(text, from->share), from->share);
	grid_cell(row, COUNT, units_count(text, from->count), (double)from->count);
	free(name);
}

static void make(struct grid *grid, struct top *top)
{
	const struct summary *summary = picture_threads(top->picture);
	grid_init(grid, columns, COLUMNS);
	for (size_t i = 0; i < summary->row_count; i++)
		add_row(grid, top->picture, &summary->rows[i]);
	grid_arrange(grid, top_place(top));
}

const struct view_class view_threads = {
	.name = "threads",
	.title = "Threads",
	.make = make,
};
