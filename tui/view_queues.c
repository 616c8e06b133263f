/* SPDX-License-Identifier: Apache-2.0 */
/* The view of device work: how busy each queue was, and what ran there, kernel by kernel. */
#include <stdlib.h>
#include <string.h>

#include "analysis/unknown.h"
#include "view/memory.h"
#include "view/text.h"
#include "view/units.h"
#include "tui/top.h"

enum { NAME, SHAPE, COUNT, TIME, SHARE, BAR, AVG, P50, P99, GB_S, GFLOP_S, COLUMNS };
enum { MOST_QUEUES = 6 };

static const struct grid_column columns[COLUMNS] = {
	[NAME] = {"KERNEL", GRID_TEXT, 0},
	[SHAPE] = {"GRID BLOCK", GRID_TEXT, 7},
	[COUNT] = {"COUNT", GRID_NUMBER, 3},
	[TIME] = {"TIME", GRID_NUMBER, 0},
	[SHARE] = {"SHARE", GRID_NUMBER, 1},
	[BAR] = {"", GRID_BAR, 2},
	[AVG] = {"AVG", GRID_NUMBER, 2},
	[P50] = {"P50", GRID_NUMBER, 4},
	[P99] = {"P99", GRID_NUMBER, 5},
	[GB_S] = {"GB/s", GRID_NUMBER, 6},
	[GFLOP_S] = {"GFLOP/s", GRID_NUMBER, 6},
};

static char *shape_of(const struct run *run, const struct summary_row *row)
{
	const struct run_kernel *k =
		row->kernel < run->kernel_count ? &run->kernels[row->kernel] : NULL;
	if (!k || !k->grid[0])
		return xstrdup("-");
	return xasprintf("%ux%ux%u %ux%ux%u", k->grid[0], k->grid[1], k->grid[2], k->block[0],
		k->block[1], k->block[2]);
}

static void cell_time(struct grid_row *row, size_t column, uint64_t ns)
{
	char text[UNITS_BYTES];
	grid_cell(row, column, units_time(text, ns), ns == ANALYSIS_UNKNOWN ? -1 : (double)ns);
}

static void add_row(struct grid *grid, const struct run *run, const struct summary_row *from)
{
	struct grid_row *row = grid_add(grid);
	char text[UNITS_BYTES];
	char *name = text_safe(from->name), *shape = shape_of(run, from);
	grid_cell(row, NAME, name, 0);
	grid_cell(row, SHAPE, shape, 0);
	grid_cell(row, COUNT, units_count(text, from->count), (double)from->count);
	cell_time(row, TIME, from->total_ns);
	grid_cell(row, SHARE, units_percent(text, from->share), from->share);
	grid_cell(row, BAR, "", from->share);
	cell_time(row, AVG, from->avg_ns);
	cell_time(row, P50, from->p50_ns);
	cell_time(row, P99, from->p99_ns);
	grid_cell(row, GB_S, units_number(text, from->bytes_per_ns), from->bytes_per_ns);
	grid_cell(row, GFLOP_S, units_number(text, from->flops_per_ns), from->flops_per_ns);
	free(shape);
	free(name);
}

static void make(struct grid *grid, struct top *top)
{
	const struct summary *summary = picture_kernels(top->picture);
	grid_init(grid, columns, COLUMNS);
	for (size_t i = 0; i < summary->row_count; i++)
		add_row(grid, top->picture->run, &summary->rows[i]);
	grid_arrange(grid, top_place(top));
}

static char *queue_name(const struct run *run, uint32_t lane)
{
	const struct run_lane *l = &run->lanes[lane];
	char *text =
		xasprintf("%s%s%s (%llu)", l->backend ? l->backend : "", l->backend ? ": " : "",
			l->name && *l->name ? l->name : "queue", (unsigned long long)l->tid);
	char *safe = text_safe(text);
	free(text);
	return safe;
}

/* A line per queue; returns how many. */
static int draw_queues(struct top *top, struct canvas *canvas, int y)
{
	const struct summary *s = picture_kernels(top->picture);
	char busy[UNITS_BYTES], idle[UNITS_BYTES], count[UNITS_BYTES], launch[UNITS_BYTES];
	int shown = 0;
	for (; shown < (int)s->queues.count && shown < MOST_QUEUES; shown++) {
		const struct queue_time *q = &s->queues.queues[shown];
		char *name = queue_name(top->picture->run, q->lane);
		char *more = shown + 1 == MOST_QUEUES && s->queues.count > MOST_QUEUES
				     ? xasprintf("; %zu more", s->queues.count - MOST_QUEUES)
				     : xstrdup("");
		canvas_print(canvas, 0, y + shown, canvas->width, STYLE_NORMAL,
			"%s: %s commands, busy %s, idle in steps %s, launch to start p50 %s%s",
			name, units_count(count, q->commands), units_time(busy, q->busy_ns),
			units_time(idle, q->idle_ns), units_time(launch, q->launch.p50_ns), more);
		free(more);
		free(name);
	}
	return shown;
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	struct grid grid;
	int used = draw_queues(top, canvas, y);
	make(&grid, top);
	if (grid.row_count && height > used + 1)
		grid_draw(&grid, top_place(top), canvas, y + used, height - used);
	else if (!used)
		top_draw_nothing(canvas, y, "No queues: no work of a device was recorded.");
	grid_fini(&grid);
}

const struct view_class view_queues = {
	.name = "queues",
	.title = "Queues",
	.draw = draw,
	.make = make,
	.columns = columns,
	.column_count = COLUMNS,
};
