/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of the last whole step: nodes open and close, and stay as they are when a newer step
 * takes the place of the older one, because they are known by the names on the way to them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "ui/text/text.h"
#include "ui/text/tree_view.h"
#include "ui/top/top_view.h"

struct line {
	uint32_t node; /* RUN_NONE: the rest, in none of the nodes above it */
	uint32_t parent_line;
	uint64_t hash;
	uint64_t time_ns;
	unsigned depth;
	bool holds, open, last;
};

struct lines {
	const struct call_tree *tree;
	ARRAY(struct line) list;
};

static char *name_of(const struct lines *lines, const struct line *line)
{
	if (line->node == RUN_NONE)
		return text_copy(line->depth == 1 ? "unattributed" : "itself");
	SCOPED char *name = tree_name(lines->tree, &lines->tree->nodes[line->node]);
	return text_safe(name);
}

static uint64_t hash_of(uint64_t parent, const char *name)
{
	return fnv1a_add(parent ^ FNV1A_BASIS, name, name ? strlen(name) : 0);
}

static size_t flipped_at(const struct top_tree *tree, uint64_t hash)
{
	size_t i = 0;
	while (i < tree->flipped_count && tree->flipped[i] != hash)
		i++;
	return i;
}

static bool is_open(const struct top_tree *tree, uint64_t hash, unsigned depth)
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

/* NULL: not enough memory, which text_error() tells. */
static struct line *add_line(struct lines *lines)
{
	struct line *line = array_add(&lines->list);
	if (text_fail(line ? 0 : -ENOMEM) == 0)
		*line = (struct line){0};
	return line;
}

/*
 * Time of a node that none of the nodes below it has. Operations are what their brick consists of;
 * the time of kernels is the device's, and no part of it.
 */
static bool has_rest(const struct call_tree *tree, const struct call_node *node)
{
	bool on_host = node->kind == CALL_ROOT;
	for (uint32_t i = node->first; i != RUN_NONE; i = tree->nodes[i].next) {
		if (tree->nodes[i].kind == CALL_OPERATION)
			return false;
		on_host = on_host || tree->nodes[i].kind != CALL_KERNEL;
	}
	return node->self_ns && on_host && (node->kind == CALL_ROOT || node->kind == CALL_BRICK);
}

static void add_node(struct lines *lines, const struct top_tree *state, uint32_t number,
	uint32_t parent_line, unsigned depth, bool last);

/* Waits stand after the others, as they lie between all of them. */
static void add_children(struct lines *lines, const struct top_tree *state, uint32_t number,
	uint32_t line, unsigned depth)
{
	const struct call_node *nodes = lines->tree->nodes, *node = &nodes[number];
	size_t left = has_rest(lines->tree, node);
	for (uint32_t i = node->first; i != RUN_NONE; i = nodes[i].next)
		left++;
	for (int waits = 0; waits < 2; waits++)
		for (uint32_t i = node->first; i != RUN_NONE; i = nodes[i].next)
			if (call_node_is_between(&nodes[i]) == waits)
				add_node(lines, state, i, line, depth + 1, --left == 0);
	if (!has_rest(lines->tree, node))
		return;
	struct line *rest = add_line(lines);
	if (!rest)
		return;
	rest->node = RUN_NONE;
	rest->parent_line = line;
	rest->depth = depth + 1;
	rest->time_ns = node->self_ns;
	rest->last = true;
}

static void add_node(struct lines *lines, const struct top_tree *state, uint32_t number,
	uint32_t parent_line, unsigned depth, bool last)
{
	const struct call_node *node = &lines->tree->nodes[number];
	uint32_t at = (uint32_t)lines->list.count;
	struct line *line = add_line(lines);
	if (!line)
		return;
	line->node = number;
	line->parent_line = parent_line;
	line->depth = depth;
	line->time_ns = call_node_time_ns(node);
	line->holds = node->first != RUN_NONE;
	line->last = last;
	SCOPED char *name = name_of(lines, line);
	line->hash = hash_of(depth ? lines->list.items[parent_line].hash : 0, depth ? name : "");
	line->open = line->holds && is_open(state, line->hash, depth);
	if (line->open)
		add_children(lines, state, number, at, depth);
}

static struct lines make(struct top *top)
{
	struct lines lines = {.tree = picture_tree(top->picture)};
	if (lines.tree)
		add_node(&lines, &top->tree, 0, 0, 0, true);
	return lines;
}

/* "│   ├── ": from the outermost level in. */
static char *branches(const struct lines *lines, size_t number, bool utf8)
{
	static const char *const utf8_glyphs[] = {
		"\xe2\x94\x9c\xe2\x94\x80 ", "\xe2\x94\x94\xe2\x94\x80 ", "\xe2\x94\x82  ", "   "};
	static const char *const ascii_glyphs[] = {"|- ", "`- ", "|  ", "   "};
	const char *const *glyphs = utf8 ? utf8_glyphs : ascii_glyphs;
	const struct line *line = &lines->list.items[number];
	char *text = text_copy("");
	for (unsigned own = 0; line->depth; own++, line = &lines->list.items[line->parent_line]) {
		char *longer =
			text_format("%s%s", glyphs[(own ? 2 : 0) + line->last], text ? text : "");
		free(text);
		text = longer;
	}
	return text;
}

enum { NUMBERS = 9 + 8 + 9 };

static int bar_width(const struct canvas *canvas)
{
	return canvas->width >= 100 ? 20 : canvas->width >= 76 ? 8 : 0;
}

/* The width of names: the longest one's, as far as there is room. */
static int name_width(const struct lines *lines, const struct canvas *canvas, bool utf8)
{
	enum { LEAST = 40 };
	int bar = bar_width(canvas), available = canvas->width - NUMBERS - (bar ? bar + 1 : 0);
	int longest = LEAST;
	for (size_t i = 0; i < lines->list.count; i++) {
		SCOPED char *lead = branches(lines, i, utf8),
			    *name = name_of(lines, &lines->list.items[i]);
		int needed = (int)(text_width(lead) + text_width(name)) + 3;
		longest = needed > longest ? needed : longest;
	}
	return longest < available ? longest : available;
}

static void draw_line(struct top *top, const struct lines *lines, size_t number,
	struct canvas *canvas, int y, int width)
{
	const struct line *line = &lines->list.items[number];
	const struct call_node *node =
		line->node == RUN_NONE ? NULL : &lines->tree->nodes[line->node];
	uint64_t whole_ns = lines->tree->nodes[0].time_ns;
	bool on_device = node && call_node_on_device(node);
	double share = whole_ns && !on_device ? (double)line->time_ns / (double)whole_ns : -1;
	char time[UNITS_BYTES], percent[UNITS_BYTES], count[UNITS_BYTES], text[64] = "";
	SCOPED char *lead = branches(lines, number, top->utf8), *name = name_of(lines, line);
	int bar = bar_width(canvas), x = 0;
	x += canvas_text(canvas, x, y, width, STYLE_FAINT, lead);
	x += canvas_text(canvas, x, y, width - x, STYLE_HEADING,
		!line->holds ? ""
		: line->open ? "- "
			     : "+ ");
	canvas_print(canvas, x, y, width - x,
		!node || call_node_is_between(node) ? STYLE_FAINT : STYLE_NORMAL, "%s", name);
	canvas_right(canvas, width, y, 8, STYLE_NORMAL, units_time(time, line->time_ns));
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
	canvas_print(canvas, 0, y, canvas->width, STYLE_BAR,
		"The last whole %sstep%s: %llu token%s, %s",
		p->phase == STEP_DECODE	   ? "decode "
		: p->phase == STEP_PREFILL ? "prefill "
					   : "",
		p->live ? "" : " of the recording", (unsigned long long)step->tokens,
		step->tokens == 1 ? "" : "s", units_time(time, tree->nodes[0].time_ns));
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	struct lines lines = make(top);
	struct grid_place *place = top_place(top);
	if (!lines.list.count) {
		view_draw_nothing(canvas, y,
			top->picture->run->has_statistics_only
				? "The session keeps statistics only."
				: "No step has ended yet.");
		return;
	}
	draw_heading(top, lines.tree, canvas, y);
	grid_scroll(place, (int)lines.list.count, height - 1);
	int width = name_width(&lines, canvas, top->utf8);
	for (int i = 0; i < height - 1 && place->scroll + i < (int)lines.list.count; i++) {
		int number = place->scroll + i;
		draw_line(top, &lines, (size_t)number, canvas, y + 1 + i, width);
		if (number == place->selected)
			canvas_paint(canvas, 0, y + 1 + i, canvas->width, STYLE_SELECTED);
	}
	array_fini(&lines.list);
}

static int rows(struct top *top)
{
	struct lines lines = make(top);
	int count = (int)lines.list.count;
	array_fini(&lines.list);
	return count;
}

static char *row_text(struct top *top, int row)
{
	struct lines lines = make(top);
	char *text = row < (int)lines.list.count ? name_of(&lines, &lines.list.items[row])
						 : text_copy("");
	array_fini(&lines.list);
	return text;
}

static void all(struct top *top, int depth)
{
	top->tree.flipped_count = 0;
	top->tree.open_depth = depth;
}

/* Closes the node; from a node that is closed or holds nothing, goes to its holder. */
static void close_or_leave(struct top *top, const struct line *line)
{
	if (line->open)
		flip(&top->tree, line->hash);
	else if (line->depth)
		top_place(top)->selected = (int)line->parent_line;
}

static bool key(struct top *top, int key)
{
	struct lines lines = make(top);
	struct grid_place *place = top_place(top);
	const struct line *line =
		place->selected < (int)lines.list.count ? &lines.list.items[place->selected] : NULL;
	bool known = true;
	if (key == 'e')
		all(top, INT32_MAX);
	else if (key == 'c')
		all(top, 1);
	else if (!line)
		known = false;
	else if (key == TOP_KEY_LEFT || key == 'h')
		close_or_leave(top, line);
	else if (key == TOP_KEY_ENTER && line->holds)
		flip(&top->tree, line->hash);
	else if ((key == TOP_KEY_RIGHT || key == 'l') && line->holds && !line->open)
		flip(&top->tree, line->hash);
	else if ((key == TOP_KEY_RIGHT || key == 'l') && line->open)
		place->selected++;
	else
		known = key == TOP_KEY_RIGHT || key == 'l' || key == TOP_KEY_ENTER;
	array_fini(&lines.list);
	return known;
}

const struct view_class view_tree = {
	.name = "tree",
	.title = "Tree",
	.draw = draw,
	.rows = rows,
	.row_text = row_text,
	.key = key,
};
