/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of layers x bricks has a row per layer and a column per brick. A cell's shade is its
 * time as a share of the hottest cell's. Cells also show their times if there is room.
 */
#include <stdlib.h>

#include "brick/registry.h"
#include "ui/text/text.h"
#include "ui/top/top_view.h"

enum { LABEL = 9, TOTAL = 9, CELL = 8, GAP = 1 };

static const char *column_name(const struct heatmap *heat, size_t column)
{
	uint32_t brick = heat->bricks[column];
	return brick < heat->run->brick_count ? heat->run->bricks[brick].name
					      : brick_name(BRICK_BARRIER_WAIT);
}

static char *layer_name(const struct heatmap *heat, size_t row)
{
	return heat->layers[row] ? text_format("layer %u", heat->layers[row] - 1)
				 : text_copy("(none)");
}

static uint64_t layer_ns(const struct heatmap *heat, size_t row)
{
	uint64_t ns = 0;
	for (size_t b = 0; b < heat->brick_count; b++)
		ns += heat->ns[row * heat->brick_count + b];
	return ns;
}

static void view_layers_draw_titles(
	const struct top *top, const struct heatmap *heat, struct canvas *canvas, int y)
{
	canvas_print(canvas, 0, y, canvas->width, STYLE_BAR, "%*s", canvas->width, "");
	canvas_text(canvas, 0, y, LABEL, STYLE_BAR, "LAYER");
	canvas_right(canvas, LABEL, y, TOTAL - 1, STYLE_BAR, "TIME");
	for (size_t b = (size_t)top->side; b < heat->brick_count; b++) {
		int x = LABEL + TOTAL + (int)(b - (size_t)top->side) * (CELL + GAP);
		if (x + CELL > canvas->width)
			break;
		SCOPED char *name = text_safe(column_name(heat, b));
		canvas_print(canvas, x, y, CELL, STYLE_BAR, "%s", name);
	}
}

static void view_layers_draw_row(
	const struct top *top, const struct heatmap *heat, size_t row, struct canvas *canvas, int y)
{
	char time[UNITS_BYTES];
	SCOPED char *name = layer_name(heat, row);
	canvas_text(canvas, 0, y, LABEL, STYLE_NORMAL, name);
	canvas_right(
		canvas, LABEL, y, TOTAL - 1, STYLE_NORMAL, units_time(time, layer_ns(heat, row)));
	for (size_t b = (size_t)top->side; b < heat->brick_count; b++) {
		uint64_t ns = heat->ns[row * heat->brick_count + b];
		int x = LABEL + TOTAL + (int)(b - (size_t)top->side) * (CELL + GAP);
		if (x + CELL > canvas->width)
			break;
		if (!ns)
			continue;
		canvas_heat(canvas, x, y, 2, (double)ns / (double)heat->most_ns);
		canvas_right(canvas, x + 2, y, CELL - 2, STYLE_NORMAL, units_time(time, ns));
	}
}

static void view_layers_draw(struct top *top, struct canvas *canvas, int y, int height)
{
	const struct heatmap *heat = picture_heat(top->picture);
	struct grid_place *place = top_place(top);
	if (!heat->layer_count) {
		view_draw_nothing(canvas, y, "No brick of a step has ended yet.");
		return;
	}
	if (top->side >= (int)heat->brick_count)
		top->side = (int)heat->brick_count - 1;
	view_layers_draw_titles(top, heat, canvas, y);
	grid_scroll(place, (int)heat->layer_count, height - 1);
	for (int i = 0; i < height - 1 && place->scroll + i < (int)heat->layer_count; i++) {
		view_layers_draw_row(top, heat, (size_t)(place->scroll + i), canvas, y + 1 + i);
		if (place->scroll + i == place->selected)
			canvas_paint(canvas, 0, y + 1 + i, LABEL + TOTAL - 1, STYLE_SELECTED);
	}
}

static int view_layers_rows(struct top *top)
{
	return (int)picture_heat(top->picture)->layer_count;
}

static char *view_layers_row_text(struct top *top, int row)
{
	return layer_name(picture_heat(top->picture), (size_t)row);
}

static bool view_layers_key(struct top *top, int key)
{
	if (key == '>' && top->side + 1 < (int)picture_heat(top->picture)->brick_count)
		top->side++;
	else if (key == '<' && top->side > 0)
		top->side--;
	return key == '<' || key == '>';
}

/* The bricks of one layer. */
static void detail(struct top *top, struct canvas *canvas, int y, int height)
{
	const struct heatmap *heat = picture_heat(top->picture);
	size_t row = (size_t)top_place(top)->selected;
	if (row >= heat->layer_count)
		return;
	uint64_t whole_ns = layer_ns(heat, row);
	char time[UNITS_BYTES], share[UNITS_BYTES];
	SCOPED char *name = layer_name(heat, row);
	canvas_print(canvas, 1, y, canvas->width, STYLE_HEADING, "%s  %s", name,
		units_time(time, whole_ns));
	for (int b = 0; b < (int)heat->brick_count && b < height - 1; b++) {
		uint64_t ns = heat->ns[row * heat->brick_count + (size_t)b];
		double part = whole_ns ? (double)ns / (double)whole_ns : 0;
		SCOPED char *brick = text_safe(column_name(heat, (size_t)b));
		canvas_print(canvas, 1, y + 1 + b, 28, STYLE_NORMAL, "%s", brick);
		canvas_right(canvas, 30, y + 1 + b, 9, STYLE_NORMAL, units_time(time, ns));
		canvas_right(canvas, 40, y + 1 + b, 7, STYLE_NORMAL, units_percent(share, part));
		canvas_share(canvas, 49, y + 1 + b, canvas->width - 50, STYLE_SHARE, part);
	}
}

const struct view_class view_layers = {
	.name = "layers",
	.title = "Layers",
	.draw = view_layers_draw,
	.rows = view_layers_rows,
	.row_text = view_layers_row_text,
	.key = view_layers_key,
	.detail = detail,
};
