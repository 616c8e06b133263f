/* SPDX-License-Identifier: Apache-2.0 */
/* The view of threads (and queues): how much of its time each worked, waited, and did nothing. */
#include "ui/text/units.h"
#include "ui/top/top.h"

static const struct grid_column columns[] = {{"THREAD", GRID_TEXT, 0}, {"WORKED", GRID_NUMBER, 0},
	{"", GRID_BAR, 5}, {"WORK", GRID_NUMBER, 2}, {"WAITED", GRID_NUMBER, 0},
	{"WAIT", GRID_NUMBER, 3}, {"OF STEPS", GRID_NUMBER, 1}, {"COUNT", GRID_NUMBER, 4}};

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
	grid_cell(row, from->name, 0);
	grid_percent(row, worked);
	grid_bar(row, worked);
	grid_time(row, from->self_ns);
	grid_percent(row, waited);
	grid_time(row, from->wait_ns);
	grid_percent(row, from->share);
	grid_cell(row, units_count(text, from->count), (double)from->count);
}

static void make(struct grid *grid, struct top *top)
{
	const struct summary *summary = picture_threads(top->picture);
	grid_init(grid, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < summary->row_count; i++)
		add_row(grid, top->picture, &summary->rows[i]);
	grid_arrange(grid, top_place(top));
}

const struct view_class view_threads = {
	.name = "threads",
	.title = "Threads",
	.make = make,
};
