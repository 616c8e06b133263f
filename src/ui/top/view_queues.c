/* SPDX-License-Identifier: Apache-2.0 */
/* The view of device work: how busy each queue was, and what ran there, kernel by kernel. */
#include <stdlib.h>

#include "ui/text/memory.h"
#include "ui/text/text_out.h"
#include "ui/text/units.h"
#include "ui/top/field_grid.h"
#include "ui/top/top.h"

enum { MAX_QUEUES = 6 };

static void make(struct grid *grid, struct top *top)
{
	const struct summary *summary = picture_kernels(top->picture);
	struct report_columns columns;
	report_columns_default(&columns, REPORT_IN_TOP, SUMMARY_BY_KERNEL);
	field_grid_init(grid, &columns, "KERNEL");
	for (size_t i = 0; i < summary->row_count; i++)
		field_grid_add(grid, &columns, &top->picture->kernels, &summary->rows[i], 0);
	grid_arrange(grid, top_place(top));
}

static char *queue_name(const struct run *run, uint32_t lane)
{
	const struct run_lane *l = &run->lanes[lane];
	SCOPED char *text =
		xasprintf("%s%s%s (%llu)", l->backend ? l->backend : "", l->backend ? ": " : "",
			l->name && *l->name ? l->name : "queue", (unsigned long long)l->tid);
	return text_safe(text);
}

/* A line per queue; returns how many. */
static int draw_queues(struct top *top, struct canvas *canvas, int y)
{
	const struct summary *s = picture_kernels(top->picture);
	char busy[UNITS_BYTES], idle[UNITS_BYTES], count[UNITS_BYTES], launch[UNITS_BYTES];
	int shown = 0;
	for (; shown < (int)s->queues.count && shown < MAX_QUEUES; shown++) {
		const struct queue_time *q = &s->queues.queues[shown];
		SCOPED char *name = queue_name(top->picture->run, q->lane);
		SCOPED char *more = shown + 1 == MAX_QUEUES && s->queues.count > MAX_QUEUES
					    ? xasprintf("; %zu more", s->queues.count - MAX_QUEUES)
					    : xstrdup("");
		canvas_print(canvas, 0, y + shown, canvas->width, STYLE_NORMAL,
			"%s: %s commands, busy %s, idle %s, launch to start p50 %s%s", name,
			units_count(count, q->commands), units_time(busy, q->busy_ns),
			units_time(idle, q->idle_ns), units_time(launch, q->launch.p50_ns), more);
	}
	return shown;
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	SCOPED_BY(grid_fini) struct grid grid;
	int used = draw_queues(top, canvas, y);
	make(&grid, top);
	if (grid.row_count && height > used + 1)
		grid_draw(&grid, top_place(top), canvas, y + used, height - used);
	else if (!used)
		top_draw_nothing(canvas, y, "No queues: no work of a device was recorded.");
}

const struct view_class view_queues = {
	.name = "queues",
	.title = "Queues",
	.draw = draw,
	.make = make,
};
