/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the screen as a whole, and keeps state that outlives pictures. Called by src/cli/cmd_top.c.
 */
#include "ui/top/top.h"

#include <stdlib.h>
#include <string.h>

const struct view_class *const top_views[TOP_VIEWS] = {
	&view_bricks,
	&view_categories,
	&view_layers,
	&view_threads,
	&view_queues,
	&view_tree,
	&view_path,
	&view_roofline,
	&view_losses,
	&view_output,
};

void top_init(struct top *top, bool utf8)
{
	memset(top, 0, sizeof(*top));
	top->utf8 = utf8;
	top->phase = SUMMARY_ALL_PHASES;
	top->interval_s = 1;
	top->tree.open_depth = 2;
}

void top_fini(struct top *top)
{
	picture_destroy(top->picture);
	picture_destroy(top->baseline);
	history_clear(&top->history);
	history_clear(&top->before);
	free(top->baseline_name);
	top->picture = NULL;
}

int top_phase_of(struct top *top, const struct run *run)
{
	if (!top->follows_phase)
		return top->phase;
	top->phase = run->step_count ? STEP_PREFILL : SUMMARY_ALL_PHASES;
	for (size_t i = 0; i < run->step_count && top->phase == STEP_PREFILL; i++)
		if (run->steps[i].phase == BRICK_PHASE_DECODE)
			top->phase = STEP_DECODE;
	return top->phase;
}

void top_baseline_set(struct top *top, struct picture *baseline, char *name)
{
	top->baseline = baseline;
	top->baseline_name = name;
	picture_phase_set(baseline, top->phase);
	history_of_run(&top->before, baseline);
}

void top_picture_set(struct top *top, struct picture *picture)
{
	picture_destroy(top->picture);
	top->picture = picture;
	if (picture && top->baseline && top->baseline->phase != picture->phase)
		top_baseline_set(top, top->baseline, top->baseline_name);
	if (picture && picture->live)
		history_add(&top->history, picture);
	else if (picture)
		history_of_run(&top->history, picture);
}

void top_phase_set(struct top *top, int phase)
{
	top->follows_phase = false;
	top->phase = phase;
	if (!top->picture)
		return;
	picture_phase_set(top->picture, phase);
	if (top->baseline)
		top_baseline_set(top, top->baseline, top->baseline_name);
	if (top->picture->live)
		history_clear_bricks(&top->history);
	else
		history_of_run(&top->history, top->picture);
}

int top_view_find(const char *name)
{
	int found = -1;
	for (int i = 0; i < TOP_VIEWS; i++) {
		if (!strcmp(top_views[i]->name, name))
			return i;
		if (!strncmp(top_views[i]->name, name, strlen(name)))
			found = found == -1 ? i : -2;
	}
	return found < 0 ? -1 : found;
}

struct grid_place *top_place(struct top *top)
{
	return &top->places[top->view];
}

void top_draw_nothing(struct canvas *canvas, int y, const char *why)
{
	canvas_print(canvas, 1, y + 1, canvas->width - 2, STYLE_FAINT, "%s", why);
}

static bool is_shown(const struct top *top, int view)
{
	return top_views[view] != &view_output || top->about.log;
}

/* From that with most room to that with least. */
enum tabs_form { TABS_WIDE, TABS_CLOSE, TABS_NUMBERS };

/* Columns of a tab: its number, what is around the title, and the title if there is one. */
static int tab_width(const struct top *top, int view, enum tabs_form form)
{
	int title = (int)strlen(top_views[view]->title);
	if (view == top->view)
		return 1 + 2 + title;
	return form == TABS_WIDE ? 1 + 1 + title : form == TABS_CLOSE ? 1 + title : 1;
}

/* Titles are whole or not there. */
static enum tabs_form tabs_form(const struct top *top, int width)
{
	for (enum tabs_form form = TABS_WIDE; form < TABS_NUMBERS; form++) {
		int total = -1; /* a blank between two of them */
		for (int i = 0; i < TOP_VIEWS; i++)
			total += is_shown(top, i) ? 1 + tab_width(top, i, form) : 0;
		if (total <= width)
			return form;
	}
	return TABS_NUMBERS;
}

static void draw_tabs(const struct top *top, struct canvas *canvas, int y)
{
	enum tabs_form form = tabs_form(top, canvas->width);
	for (int i = 0, x = 0; i < TOP_VIEWS; i++) {
		bool here = i == top->view;
		const char *title = here || form != TABS_NUMBERS ? top_views[i]->title : "";
		if (!is_shown(top, i))
			continue;
		x += canvas_print(
			canvas, x, y, canvas->width - x, STYLE_HEADING, "%d", (i + 1) % 10);
		x += canvas_print(canvas, x, y, canvas->width - x,
			here ? STYLE_SELECTED : STYLE_NORMAL,
			here		    ? "[%s]"
			: form == TABS_WIDE ? " %s"
					    : "%s",
			title);
		x++;
	}
}

static void draw_foot(const struct top *top, struct canvas *canvas, int y)
{
	int x = 0;
	canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL, "%*s", canvas->width, "");
	if (top->mode == TOP_SEARCH) {
		canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL, "/%s%s", top->search,
			top->message);
		return;
	}
	if (top->mode == TOP_ASK_QUIT) {
		canvas_text(canvas, 0, y, canvas->width, STYLE_ALARM,
			"The program is running. End it? y: yes, any other key: no");
		return;
	}
	if (top->message[0]) {
		canvas_print(canvas, 0, y, canvas->width, STYLE_NOTICE, "%s", top->message);
		return;
	}
	static const char *const keys[][2] = {{"?", "help"}, {"Tab", "view"}, {"/", "find"},
		{"s", "sort"}, {"p", "phase"}, {"Space", "hold"}, {"+-", "rate"}, {"r", "reset"},
		{"q", "quit"}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (x + (int)(strlen(keys[i][0]) + strlen(keys[i][1])) + 1 > canvas->width)
			break;
		x += canvas_text(canvas, x, y, canvas->width - x, STYLE_HEADING, keys[i][0]);
		x += 2 +
		     canvas_print(canvas, x, y, canvas->width - x, STYLE_FAINT, " %s", keys[i][1]);
	}
}

void top_draw(struct top *top, struct canvas *canvas)
{
	int y = TOP_HEADER_LINES, height = canvas->height - TOP_HEADER_LINES - 2;
	const struct view_class *view = top_views[top->view];
	top->width = canvas->width;
	top->height = canvas->height;
	top_draw_header(top, canvas);
	draw_tabs(top, canvas, y - 1);
	if (height < 2)
		canvas_text(canvas, 0, y, canvas->width, STYLE_NOTICE, "(too low a window)");
	else if (top->mode == TOP_HELP)
		top_draw_help(top, canvas, y, height + 1);
	else if (!top->picture && view != &view_output)
		top_draw_nothing(canvas, y,
			top->about.fault  ? top->about.fault
			: top->about.over ? "Nothing was recorded."
					  : "Nothing has been recorded yet; waiting.");
	else if (top->mode == TOP_DETAIL && view->detail)
		view->detail(top, canvas, y, height + 1);
	else if (view->text)
		top_draw_text(top, canvas, y, height + 1);
	else if (view->draw)
		view->draw(top, canvas, y, height + 1);
	else
		top_draw_table(top, canvas, y, height + 1);
	draw_foot(top, canvas, canvas->height - 1);
}
