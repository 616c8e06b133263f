/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of the last whole step. Open nodes stay open when a newer step replaces the older one,
 * because a node is known by the names on the way to it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "ui/text/phase_text.h"
#include "ui/text/text.h"
#include "ui/text/tree_rows.h"
#include "ui/top/top_view.h"

/* Hash of the names on the way to a row; 0: the root. */
static uint64_t path_hash(const struct tree_rows *rows, uint32_t row)
{
	const struct tree_row *r = &rows->list.items[row];

	if (!r->depth)
		return 0;
	SCOPED char *name = tree_rows_name(rows, row);
	return fnv1a_add(path_hash(rows, r->above) ^ FNV1A_BASIS, name, name ? strlen(name) : 0);
}

static size_t flipped_at(const struct top_tree *tree, uint64_t hash)
{
	size_t i = 0;
	while (i < tree->flipped_count && tree->flipped[i] != hash)
		i++;
	return i;
}

static bool view_tree_is_open(const struct top_tree *tree, uint64_t hash, unsigned depth)
{
	bool flipped = flipped_at(tree, hash) < tree->flipped_count;
	return ((int)depth < tree->open_depth) != flipped;
}

static void flip(struct top_tree *tree, uint64_t hash)
{
	size_t i = flipped_at(tree, hash);
	if (i < tree->flipped_count)
		tree->flipped[i] = tree->flipped[--tree->flipped_count];
	else if (tree->flipped_count < TOP_EXPANDED)
		tree->flipped[tree->flipped_count++] = hash;
}

static bool opens(const struct tree_rows *rows, uint32_t row, void *tree)
{
	return view_tree_is_open(tree, path_hash(rows, row), rows->list.items[row].depth);
}

static struct tree_rows view_tree_make(struct top *top)
{
	struct tree_rows rows = {.tree = picture_tree(top->picture),
		.operations = true,
		.opens = opens,
		.context = &top->tree};

	if (rows.tree)
		tree_rows_make(&rows);
	return rows;
}

static char *branches(const struct tree_rows *rows, uint32_t row, bool utf8)
{
	static const struct tree_rows_glyphs fine = {
		"\xe2\x94\x9c\xe2\x94\x80 ", "\xe2\x94\x94\xe2\x94\x80 ", "\xe2\x94\x82  ", "   "};
	static const struct tree_rows_glyphs ascii = {"|- ", "`- ", "|  ", "   "};

	return rows->list.items[row].depth ? tree_rows_branches(rows, row, utf8 ? &fine : &ascii)
					   : text_copy("");
}

enum { NUMBERS = 9 + 8 + 9 };

static int bar_width(const struct canvas *canvas)
{
	return canvas->width >= 100 ? 20 : canvas->width >= 76 ? 8 : 0;
}

/* The width of names: the longest one's, as far as there is room. */
static int view_tree_name_width(
	const struct tree_rows *rows, const struct canvas *canvas, bool utf8)
{
	enum { LEAST = 40 };
	int bar = bar_width(canvas), available = canvas->width - NUMBERS - (bar ? bar + 1 : 0);
	int longest = LEAST;
	for (uint32_t i = 0; i < rows->list.count; i++) {
		SCOPED char *lead = branches(rows, i, utf8), *name = tree_rows_name(rows, i);
		int needed = (int)(text_width(lead) + text_width(name)) + 3;
		longest = needed > longest ? needed : longest;
	}
	return longest < available ? longest : available;
}

static void draw_line(struct top *top, const struct tree_rows *rows, uint32_t number,
	struct canvas *canvas, int y, int width)
{
	const struct tree_row *row = &rows->list.items[number];
	const struct call_node *node = row->node == RUN_NONE ? NULL : &rows->tree->nodes[row->node];
	uint64_t whole_ns = rows->tree->nodes[0].time_ns, ns = tree_rows_time_ns(rows, number);
	bool on_device = node && call_node_on_device(node);
	double share = whole_ns && !on_device ? (double)ns / (double)whole_ns : -1;
	char time[UNITS_BYTES], percent[UNITS_BYTES], count[UNITS_BYTES], text[64] = "";
	SCOPED char *lead = branches(rows, number, top->utf8), *name = tree_rows_name(rows, number);
	int bar = bar_width(canvas), x = 0;
	x += canvas_text(canvas, x, y, width, STYLE_FAINT, lead);
	x += canvas_text(canvas, x, y, width - x, STYLE_HEADING,
		!row->holds    ? ""
		: row->is_open ? "- "
			       : "+ ");
	canvas_print(canvas, x, y, width - x,
		!node || call_node_is_between(node) ? STYLE_FAINT : STYLE_NORMAL, "%s", name);
	canvas_right(canvas, width, y, 8, STYLE_NORMAL, units_time(time, ns));
	canvas_right(canvas, width + 9, y, 7, STYLE_NORMAL,
		on_device ? "device" : units_percent(percent, share));
	if (node && node->kind != CALL_LAYER && call_node_count(node) > 1)
		snprintf(text, sizeof(text), "%s%s", top->utf8 ? "\xc3\x97" : "x",
			units_count(count, call_node_count(node)));
	canvas_print(canvas, width + 17, y, 8, STYLE_FAINT, "%s", text);
	if (bar)
		canvas_share(canvas, width + NUMBERS + 1, y, bar, STYLE_SHARE, share);
}

static void draw_heading(
	struct top *top, const struct call_tree *tree, struct canvas *canvas, int y)
{
	const struct picture *p = top->picture;
	char time[UNITS_BYTES];
	canvas_print(canvas, 0, y, canvas->width, STYLE_BAR, "%*s", canvas->width, "");
	if (tree->step == RUN_NONE) {
		canvas_print(canvas, 0, y, canvas->width, STYLE_BAR, "All of one thread, in %s",
			units_time(time, tree->nodes[0].time_ns));
		return;
	}
	const struct run_step *step = &p->run->steps[tree->step];
	char tokens[32] = "";
	if (step->tokens)
		snprintf(tokens, sizeof(tokens), "%llu token%s, ", (unsigned long long)step->tokens,
			step->tokens == 1 ? "" : "s");
	canvas_print(canvas, 0, y, canvas->width, STYLE_BAR, "The last whole %sstep%s: %s%s",
		phase_adjective(p->phase), p->live ? "" : " of the recording", tokens,
		units_time(time, tree->nodes[0].time_ns));
}

static void view_tree_draw(struct top *top, struct canvas *canvas, int y, int height)
{
	struct tree_rows tree = view_tree_make(top);
	struct grid_place *place = top_place(top);
	if (!tree.list.count) {
		view_draw_nothing(canvas, y,
			top->picture->run->has_statistics_only
				? "The session keeps statistics only."
				: "No step has ended yet.");
		return;
	}
	draw_heading(top, tree.tree, canvas, y);
	grid_scroll(place, (int)tree.list.count, height - 1);
	int width = view_tree_name_width(&tree, canvas, top->utf8);
	for (int i = 0; i < height - 1 && place->scroll + i < (int)tree.list.count; i++) {
		int number = place->scroll + i;
		draw_line(top, &tree, (uint32_t)number, canvas, y + 1 + i, width);
		if (number == place->selected)
			canvas_paint(canvas, 0, y + 1 + i, canvas->width, STYLE_SELECTED);
	}
	array_fini(&tree.list);
}

static int view_tree_rows(struct top *top)
{
	struct tree_rows tree = view_tree_make(top);
	int count = (int)tree.list.count;
	array_fini(&tree.list);
	return count;
}

static char *view_tree_row_text(struct top *top, int row)
{
	struct tree_rows tree = view_tree_make(top);
	char *text =
		row < (int)tree.list.count ? tree_rows_name(&tree, (uint32_t)row) : text_copy("");
	array_fini(&tree.list);
	return text;
}

static void view_tree_all(struct top *top, int depth)
{
	top->tree.flipped_count = 0;
	top->tree.open_depth = depth;
}

/* Closes the node; from a node that is closed or holds nothing, goes to its holder. */
static void close_or_leave(struct top *top, const struct tree_rows *tree, uint32_t number)
{
	const struct tree_row *row = &tree->list.items[number];

	if (row->is_open)
		flip(&top->tree, path_hash(tree, number));
	else if (row->depth)
		top_place(top)->selected = (int)row->above;
}

static bool view_tree_key(struct top *top, int key)
{
	struct tree_rows tree = view_tree_make(top);
	struct grid_place *place = top_place(top);
	uint32_t number = (uint32_t)place->selected;
	const struct tree_row *row = number < tree.list.count ? &tree.list.items[number] : NULL;
	bool known = true;
	if (key == 'e')
		view_tree_all(top, INT32_MAX);
	else if (key == 'c')
		view_tree_all(top, 1);
	else if (!row)
		known = false;
	else if (key == TOP_KEY_LEFT || key == 'h')
		close_or_leave(top, &tree, number);
	else if (key == TOP_KEY_ENTER && row->holds)
		flip(&top->tree, path_hash(&tree, number));
	else if ((key == TOP_KEY_RIGHT || key == 'l') && row->holds && !row->is_open)
		flip(&top->tree, path_hash(&tree, number));
	else if ((key == TOP_KEY_RIGHT || key == 'l') && row->is_open)
		place->selected++;
	else
		known = key == TOP_KEY_RIGHT || key == 'l' || key == TOP_KEY_ENTER;
	array_fini(&tree.list);
	return known;
}

const struct view_class view_tree = {
	.name = "tree",
	.title = "Tree",
	.draw = view_tree_draw,
	.rows = view_tree_rows,
	.row_text = view_tree_row_text,
	.key = view_tree_key,
};
