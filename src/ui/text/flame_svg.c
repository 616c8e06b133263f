/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as a picture: what holds is above what it holds, as wide as it took long. One colour for
 * each category; it follows the viewer's light or dark theme. What would be narrower than a fifth
 * of a pixel is left out. Called by `brick flame`.
 */
#include "ui/text/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/fnv.h"
#include "base/scope.h"
#include "ui/text/text.h"
#include "ui/text/tree_view.h"

enum { WIDTH = 1200, MARGIN = 10, ROW = 18, HEAD = 44, LETTER = 7 };

#define MIN_WIDTH 0.2

struct picture {
	const struct call_tree *stacks;
	double per_ns;
	FILE *out;
};

static unsigned depth_of(const struct picture *p, const struct call_node *node)
{
	unsigned deepest = 0;
	for (uint32_t i = node->first; i != RUN_NONE; i = p->stacks->nodes[i].next) {
		const struct call_node *below = &p->stacks->nodes[i];
		unsigned depth =
			(double)below->time_ns * p->per_ns < MIN_WIDTH ? 0 : 1 + depth_of(p, below);
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* Degrees of the colour wheel, by category. */
static unsigned hue_of(const struct picture *p, const struct call_node *node)
{
	const struct run *run = p->stacks->run;
	const char *text = "";
	if (node->brick != RUN_NONE)
		text = run->categories[run->bricks[node->brick].category].name;
	return (unsigned)(fnv1a(text, strlen(text)) % 12) * 30;
}

static const char *class_of(const struct call_node *node)
{
	return node->kind == CALL_BRICK || node->kind == CALL_KERNEL ? "brick"
	       : call_node_is_between(node)			     ? "wait"
								     : "place";
}

static void print_box(
	const struct picture *p, const struct call_node *node, double x, double y, double width)
{
	char time[UNITS_BYTES], share[UNITS_BYTES], count[UNITS_BYTES];
	SCOPED char *name = tree_name(p->stacks, node), *safe = text_safe(name);
	fprintf(p->out,
		"<g><rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" "
		"style=\"--hue:%u\"/><title>",
		class_of(node), x, y, width, ROW - 1, hue_of(p, node));
	escape_xml(p->out, safe);
	fprintf(p->out, ": %s, ", units_time(time, node->time_ns));
	escape_xml(p->out,
		units_percent(share, (double)node->time_ns / (double)p->stacks->nodes[0].time_ns));
	if (node->count)
		fprintf(p->out, ", %s execution%s", units_count(count, node->count),
			node->count == 1 ? "" : "s");
	fputs("</title>", p->out);
	if (width > 4 * LETTER) {
		SCOPED char *cut = text_cut(safe, (size_t)(width / LETTER));
		fprintf(p->out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
		escape_xml(p->out, cut);
		fputs("</text>", p->out);
	}
	fputs("</g>\n", p->out);
}

static void print_below(const struct picture *p, const struct call_node *node, double x, double y)
{
	for (uint32_t i = node->first; i != RUN_NONE; i = p->stacks->nodes[i].next) {
		const struct call_node *below = &p->stacks->nodes[i];
		double width = (double)below->time_ns * p->per_ns;
		if (width >= MIN_WIDTH) {
			print_box(p, below, x, y, width);
			print_below(p, below, x, y + ROW);
		}
		x += width;
	}
}

static void print_head(const struct picture *p, unsigned height)
{
	char time[UNITS_BYTES];
	const char *selected = p->stacks->run->selected;
	fprintf(p->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<style>svg{background:#fff;fill:#222}.brick{fill:hsl(var(--hue),65%%,76%%)}"
		".wait{fill:#ccc}.place{fill:#e4e4e4}text{pointer-events:none}"
		"@media(prefers-color-scheme:dark){svg{background:#1b1b1b;fill:#eee}"
		".brick{fill:hsl(var(--hue),35%%,32%%)}.wait{fill:#555}.place{fill:#3a3a3a}}"
		"</style>\n<text x=\"%d\" y=\"28\" font-size=\"15\">",
		WIDTH, height, WIDTH, height, MARGIN);
	escape_xml(p->out, p->stacks->run->path);
	fprintf(p->out, ": %s of all threads and queues",
		units_time(time, p->stacks->nodes[0].time_ns));
	if (selected) {
		fputs("; only ", p->out);
		escape_xml(p->out, selected);
	}
	fputs("</text>\n", p->out);
}

int flame_svg(const struct call_tree *stacks, FILE *out)
{
	uint64_t all_ns = stacks->nodes[0].time_ns;
	struct picture p = {stacks, all_ns ? (WIDTH - 2.0 * MARGIN) / (double)all_ns : 0, out};
	print_head(&p, HEAD + depth_of(&p, &stacks->nodes[0]) * ROW + MARGIN);
	print_below(&p, &stacks->nodes[0], MARGIN, HEAD);
	fputs("</svg>\n", out);
	return 0;
}
