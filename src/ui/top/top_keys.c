/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keys do. Movement and searching are the same in all views; a view is asked first only for
 * keys that it declares its own. Called by the screen's loop and by tests.
 */
#include "ui/top/top.h"

#include <stdlib.h>
#include <string.h>

static const double rates_s[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
enum { RATES = sizeof(rates_s) / sizeof(rates_s[0]) };

static void say(struct top *top, const char *text)
{
	snprintf(top->message, sizeof(top->message), "%s", text);
}

/* The name of the selected row, by which it is found again in the next picture. */
static void keep_name(struct top *top)
{
	const struct view_class *view = top_views[top->view];
	struct grid_place *place = top_place(top);
	place->name[0] = '\0';
	if (!view->make || place->selected >= top_rows(top))
		return;
	SCOPED char *text = top_row_text(top, place->selected);
	snprintf(place->name, sizeof(place->name), "%s", text);
}

static void move_to(struct top *top, int row)
{
	struct grid_place *place = top_place(top);
	int rows = top_rows(top);
	place->selected = row >= rows ? rows - 1 : row;
	if (place->selected < 0)
		place->selected = 0;
	keep_name(top);
}

static void change_rate(struct top *top, int by)
{
	int i = 0;
	while (i + 1 < RATES && rates_s[i] < top->interval_s - 1e-9)
		i++;
	i -= by; /* faster is a shorter interval */
	top->interval_s = rates_s[i < 0 ? 0 : i >= RATES ? RATES - 1 : i];
	snprintf(top->message, sizeof(top->message), "Every %g s", top->interval_s);
}

static void show_view(struct top *top, int view)
{
	if (top_views[view] == &view_output && !top->about.log) {
		say(top, "There is no output to show: the program was not started from here.");
		return;
	}
	top->view = view;
	top->mode = TOP_BROWSE;
}

static void next_view(struct top *top, int by)
{
	int view = top->view;
	do
		view = (view + by + TOP_VIEWS) % TOP_VIEWS;
	while (top_views[view] == &view_output && !top->about.log);
	show_view(top, view);
}

static void next_phase(struct top *top, int unused)
{
	static const char *const names[] = {"Steps of all phases", "Prefill only", "Decode only"};
	top_phase_set(top, top->phase == SUMMARY_ALL_PHASES ? STEP_DECODE
			   : top->phase == STEP_DECODE	    ? STEP_PREFILL
							    : SUMMARY_ALL_PHASES);
	say(top, names[top->phase - SUMMARY_ALL_PHASES]);
}

static void sort_next(struct top *top, int unused)
{
	const struct view_class *view = top_views[top->view];
	struct grid_place *place = top_place(top);
	struct grid grid;
	if (!view->make || !top->picture) {
		say(top, "This view has an order of its own.");
		return;
	}
	view->make(&grid, top);
	grid_sort_next(&grid, place, top->width);
	if (place->sort)
		snprintf(top->message, sizeof(top->message),
			"Sorted by %s (S: the other way round)", grid.columns[place->sort].title);
	else
		say(top, "In the order of the report");
	grid_fini(&grid);
}

/* ---- searching ---- */

/* The next row from `from` on that holds the text, in the direction; wraps around. */
static bool search_from(struct top *top, int from, int direction)
{
	int rows = top_rows(top);
	for (int i = 0; i < rows; i++) {
		int row = ((from + direction * i) % rows + rows) % rows;
		SCOPED char *text = top_row_text(top, row);
		if (strcasestr(text, top->search)) {
			move_to(top, row);
			return true;
		}
	}
	return false;
}

static void search_again(struct top *top, int direction)
{
	if (!top->search[0])
		say(top, "Nothing was searched for yet: press /");
	else if (!search_from(top, top_place(top)->selected + direction, direction))
		snprintf(top->message, sizeof(top->message), "There is no '%s' here.", top->search);
}

static void search_key(struct top *top, int key)
{
	size_t n = strlen(top->search);
	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE) {
		top->mode = TOP_BROWSE;
		if (key == TOP_KEY_ESCAPE)
			move_to(top, top->search_origin);
		return;
	}
	if (key == TOP_KEY_BACKSPACE && n)
		top->search[n - 1] = '\0';
	else if (key >= 0x20 && key < 0x7f && n + 1 < sizeof(top->search)) {
		top->search[n] = (char)key;
		top->search[n + 1] = '\0';
	}
	if (!top->search[0] || !search_from(top, top->search_origin, 1)) {
		move_to(top, top->search_origin);
		say(top, top->search[0] ? "   (not found)" : "");
	}
}

/* ---- browsing ---- */

static bool move_key(struct top *top, int key)
{
	struct grid_place *place = top_place(top);
	int page = top->height - TOP_HEADER_LINES - 3;
	if (page < 1)
		page = 1;
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		move_to(top, place->selected - 1);
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		move_to(top, place->selected + 1);
		return true;
	case TOP_KEY_PAGE_UP:
		move_to(top, place->selected - page);
		return true;
	case TOP_KEY_PAGE_DOWN:
		move_to(top, place->selected + page);
		return true;
	case TOP_KEY_HOME:
	case 'g':
		move_to(top, 0);
		return true;
	case TOP_KEY_END:
	case 'G':
		move_to(top, INT32_MAX);
		return true;
	}
	return false;
}

static void ask_quit(struct top *top, int unused)
{
	top->mode = TOP_ASK_QUIT;
}

static void show_help(struct top *top, int unused)
{
	top->mode = TOP_HELP;
}

static void search(struct top *top, int unused)
{
	top->mode = TOP_SEARCH;
	top->search[0] = '\0';
	top->search_origin = top_place(top)->selected;
}

static void sort_other_way(struct top *top, int unused)
{
	struct grid_place *place = top_place(top);
	if (place->sort)
		place->sort = -1 - place->sort;
}

static void hold(struct top *top, int unused)
{
	top->held = !top->held;
	say(top, top->held ? "Held; Space goes on" : "Goes on");
}

static void enter(struct top *top, int unused)
{
	if (top_views[top->view]->detail && top_rows(top) > 0) {
		memset(&top->detail_place, 0, sizeof(top->detail_place));
		top->mode = TOP_DETAIL;
	}
}

enum { KEY_F1 = 'h' + 0x100000 };

static const struct {
	int key;
	void (*act)(struct top *top, int by);
	int by;
} bindings[] = {
	{'q', ask_quit, 0},
	{'?', show_help, 0},
	{KEY_F1, show_help, 0},
	{TOP_KEY_TAB, next_view, 1},
	{TOP_KEY_RIGHT, next_view, 1},
	{'l', next_view, 1},
	{TOP_KEY_BACK_TAB, next_view, -1},
	{TOP_KEY_LEFT, next_view, -1},
	{'h', next_view, -1},
	{'/', search, 0},
	{'n', search_again, 1},
	{'N', search_again, -1},
	{'s', sort_next, 0},
	{'S', sort_other_way, 0},
	{'p', next_phase, 0},
	{' ', hold, 0},
	{'+', change_rate, 1},
	{'=', change_rate, 1},
	{'-', change_rate, -1},
	{TOP_KEY_ENTER, enter, 0},
};

static enum top_action browse_key(struct top *top, int key)
{
	if (key == 'r')
		return TOP_RESET;
	if (key == 'q' && !top->about.running)
		return TOP_QUIT;
	for (size_t i = 0; i < sizeof(bindings) / sizeof(bindings[0]); i++)
		if (bindings[i].key == key)
			bindings[i].act(top, bindings[i].by);
	if (key >= '0' && key <= '9')
		show_view(top, key == '0' ? 9 : key - '1');
	return TOP_STAY;
}

enum top_action top_key(struct top *top, int key)
{
	const struct view_class *view = top_views[top->view];
	top->message[0] = '\0';
	if (key == TOP_KEY_RESIZE || key == TOP_KEY_NONE)
		return TOP_STAY;
	if (top->mode == TOP_SEARCH) {
		search_key(top, key);
		return TOP_STAY;
	}
	if (top->mode == TOP_ASK_QUIT) {
		top->mode = TOP_BROWSE;
		return key == 'y' || key == 'Y' ? TOP_QUIT : TOP_STAY;
	}
	if (top->mode == TOP_HELP || top->mode == TOP_DETAIL) {
		bool moved = top->mode == TOP_DETAIL && move_key(top, key);
		if (!moved && key != ' ')
			top->mode = TOP_BROWSE;
		if (moved || key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE || key == 'q' ||
			key == '?')
			return TOP_STAY;
	}
	if (top->picture && view->key && view->key(top, key)) {
		keep_name(top);
		return TOP_STAY;
	}
	return move_key(top, key) ? TOP_STAY : browse_key(top, key);
}
