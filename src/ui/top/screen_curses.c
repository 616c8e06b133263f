/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal through ncursesw. All keys come in raw, Ctrl-C and Ctrl-Z too, so that they reach
 * nobody but us; a signal that ends us first puts the terminal back in order.
 */
#include "ui/top/screen.h"

#include <ncurses.h>
#include <poll.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "ui/text/text.h"

enum { CTRL_C = 3, CTRL_Z = 26, DELETE = 127, CTRL_H = 8, CTRL_L = 12, CTRL_B = 2, CTRL_F = 6 };

static volatile sig_atomic_t ended_by;

static void curses_on_end(int number)
{
	ended_by = number;
}

static bool can_move_cursor(void)
{
	int error = 0;
	if (setupterm(NULL, 1, &error) != OK)
		return false;
	bool can = cursor_address != NULL;
	del_curterm(cur_term);
	return can;
}

const char *screen_obstacle(void)
{
	const char *term = getenv("TERM");
	if (!isatty(0) || !isatty(1))
		return "this is no terminal; --headless --json prints numbers, --dump 80x24 a "
		       "screen";
	if (!term || !*term)
		return "TERM is not set, so nothing is known of this terminal; --headless and "
		       "--dump 80x24 work without one";
	if (!can_move_cursor())
		return "this terminal (TERM) cannot move its cursor, or is not known; --headless "
		       "and --dump 80x24 work without one";
	return NULL;
}

static void init_colours(void)
{
	static const short colours[][2] = {{STYLE_FINE, COLOR_GREEN}, {STYLE_NOTICE, COLOR_YELLOW},
		{STYLE_ALARM, COLOR_RED}, {STYLE_SHARE, COLOR_CYAN}, {STYLE_WAITS, COLOR_YELLOW},
		{STYLE_HEAT, COLOR_BLUE}, {STYLE_HEAT + 1, COLOR_CYAN},
		{STYLE_HEAT + 2, COLOR_GREEN}, {STYLE_HEAT + 3, COLOR_YELLOW},
		{STYLE_HEAT + 4, COLOR_RED}};
	const char *none = getenv("NO_COLOR");
	if ((none && *none) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
		init_pair(colours[i][0], colours[i][1], -1);
}

static attr_t curses_attributes_of(int style)
{
	static const attr_t attributes[STYLES] = {[STYLE_HEADING] = A_BOLD,
		[STYLE_FAINT] = A_DIM,
		[STYLE_ALARM] = A_BOLD,
		[STYLE_SELECTED] = A_REVERSE | A_BOLD,
		[STYLE_BAR] = A_REVERSE};
	short front, back;
	attr_t attribute = attributes[style];
	if (pair_content((short)style, &front, &back) == OK && style >= STYLE_FINE &&
		style != STYLE_SELECTED && style != STYLE_BAR)
		attribute |= COLOR_PAIR(style);
	return attribute;
}

static void curses_show(struct top *top)
{
	struct canvas canvas;
	canvas_init(&canvas, COLS, LINES, top->utf8);
	top_draw(top, &canvas);
	erase();
	for (int y = 0; y < canvas.height; y++)
		for (int x = 0; x < canvas.width; x++) {
			const struct canvas_cell *cell = &canvas.cells[y * canvas.width + x];
			if (!cell->text[0] || (cell->text[0] == ' ' && cell->style == STYLE_NORMAL))
				continue;
			attrset(curses_attributes_of(cell->style));
			mvaddstr(y, x, cell->text);
		}
	attrset(A_NORMAL);
	canvas_fini(&canvas);
	refresh();
}

static int curses_key_of(int key)
{
	static const int keys[][2] = {{KEY_UP, TOP_KEY_UP}, {KEY_DOWN, TOP_KEY_DOWN},
		{KEY_LEFT, TOP_KEY_LEFT}, {KEY_RIGHT, TOP_KEY_RIGHT}, {KEY_PPAGE, TOP_KEY_PAGE_UP},
		{CTRL_B, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{CTRL_F, TOP_KEY_PAGE_DOWN}, {KEY_HOME, TOP_KEY_HOME}, {KEY_END, TOP_KEY_END},
		{KEY_BTAB, TOP_KEY_BACK_TAB}, {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
		{DELETE, TOP_KEY_BACKSPACE}, {CTRL_H, TOP_KEY_BACKSPACE},
		{KEY_RESIZE, TOP_KEY_RESIZE}, {KEY_ENTER, TOP_KEY_ENTER}, {'\r', TOP_KEY_ENTER},
		{'\n', TOP_KEY_ENTER}, {KEY_F(1), '?'}, {KEY_F(10), 'q'}, {CTRL_C, 'q'}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] == key)
			return keys[i][1];
	return key < 256 ? key : TOP_KEY_NONE;
}

static void suspend(void)
{
	endwin();
	raise(SIGSTOP);
	refresh();
}

/* Follow one key; true: quit. */
static bool curses_follow(struct top *top, const struct screen_calls *calls, int raw_key)
{
	if (raw_key == CTRL_Z) {
		suspend();
		return false;
	}
	if (raw_key == CTRL_L)
		clearok(curscr, TRUE);
	switch (top_key(top, curses_key_of(raw_key))) {
	case TOP_QUIT:
		return true;
	case TOP_RESET:
		calls->reset(calls->context);
		break;
	default:
		break;
	}
	return false;
}

/* The program ends while the screen is shown. */
static void put_back(void)
{
	if (!isendwin())
		endwin();
}

static int loop(struct top *top, const struct screen_calls *calls)
{
	uint64_t due_ms = 0;
	while (!ended_by) {
		uint64_t now = monotonic_ns() / 1000000;
		if (now >= due_ms) {
			due_ms = now + calls->look(calls->context);
			now = monotonic_ns() / 1000000;
		}
		curses_show(top);
		if (text_error() < 0)
			snprintf(top->message, sizeof(top->message),
				"Not enough memory for all of it");
		timeout(due_ms > now ? (int)(due_ms - now) : 0);
		double interval_s = top->interval_s;
		int key = getch();
		if (key != ERR && curses_follow(top, calls, key))
			return 0;
		if (key == ERR && !isatty(0))
			return SIGHUP;
		/* what was asked for is shown at once */
		if (key != ERR && (top->interval_s != interval_s || key == 'r'))
			due_ms = 0;
	}
	return ended_by;
}

enum { SIGNALS = 3 };
static const int curses_signals[SIGNALS] = {SIGTERM, SIGHUP, SIGINT};
static struct sigaction curses_old[SIGNALS];

/* False: there is no screen. screen_obstacle() has looked before. */
static bool curses_begin(void)
{
	struct sigaction action = {.sa_handler = curses_on_end};
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < SIGNALS; i++)
		sigaction(curses_signals[i], &action, &curses_old[i]);
	if (!newterm(NULL, stdout, stdin))
		return false;
	atexit(put_back);
	set_escdelay(25);
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	init_colours();
	return true;
}

static void curses_end(void)
{
	endwin();
	for (int i = 0; i < SIGNALS; i++)
		sigaction(curses_signals[i], &curses_old[i], NULL);
}

/* A graph's tree. */

struct graph_screen {
	struct brick_graph_view *view;
	const char *title;
	char wanted[64]; /* the text that is searched for */
	bool is_typed;	 /* keys go into `wanted` */
};

static int graph_screen_put(void *context, const char *data, size_t bytes)
{
	addnstr(data, (int)bytes);
	return 0;
}

static void graph_screen_show(const struct graph_screen *s)
{
	erase();
	attrset(A_BOLD);
	mvaddnstr(0, 0, s->title, COLS);
	attrset(A_NORMAL);
	move(1, 0);
	if (LINES > 2)
		brick_graph_view_write(
			s->view, (size_t)COLS, (size_t)LINES - 2, graph_screen_put, NULL);
	move(LINES - 1, 0);
	if (s->is_typed)
		printw("/%s", s->wanted);
	else
		addnstr("Enter opens and closes, / finds, n goes on, q quits", COLS - 1);
	refresh();
}

static void graph_screen_type(struct graph_screen *s, int key)
{
	size_t length = strlen(s->wanted);

	if (key == TOP_KEY_ENTER || key == 27)
		s->is_typed = false;
	else if (key == TOP_KEY_BACKSPACE)
		s->wanted[length ? length - 1 : 0] = '\0';
	else if (key >= ' ' && key < 256 && length + 1 < sizeof(s->wanted))
		s->wanted[length] = (char)key;
	if (key == TOP_KEY_ENTER && *s->wanted)
		brick_graph_view_search(s->view, s->wanted);
}

static void graph_screen_follow(struct graph_screen *s, int key)
{
	uint32_t node = (uint32_t)brick_graph_view_selected(s->view);

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		brick_graph_view_move(s->view, -1);
		break;
	case TOP_KEY_DOWN:
	case 'j':
		brick_graph_view_move(s->view, 1);
		break;
	case TOP_KEY_PAGE_UP:
		brick_graph_view_move(s->view, -LINES);
		break;
	case TOP_KEY_PAGE_DOWN:
		brick_graph_view_move(s->view, LINES);
		break;
	case TOP_KEY_HOME:
	case 'g':
		brick_graph_view_move(s->view, -brick_graph_view_rows(s->view));
		break;
	case TOP_KEY_END:
	case 'G':
		brick_graph_view_move(s->view, brick_graph_view_rows(s->view));
		break;
	case TOP_KEY_ENTER:
	case ' ':
		brick_graph_view_open(s->view, node, !brick_graph_view_is_open(s->view, node));
		break;
	case TOP_KEY_RIGHT:
	case TOP_KEY_LEFT:
		brick_graph_view_open(s->view, node, key == TOP_KEY_RIGHT);
		break;
	case '/':
		s->is_typed = true;
		memset(s->wanted, 0, sizeof(s->wanted));
		break;
	case 'n':
		if (*s->wanted)
			brick_graph_view_search(s->view, s->wanted);
		break;
	default:
		break;
	}
}

int screen_run_graph(struct brick_graph_view *view, const char *title)
{
	struct graph_screen s = {.view = view, .title = title};
	bool is_over = !curses_begin();

	while (!ended_by && !is_over) {
		graph_screen_show(&s);
		timeout(1000); /* a signal may come just before */
		int raw_key = getch(), key = raw_key == ERR ? TOP_KEY_NONE : curses_key_of(raw_key);
		if (raw_key == ERR && !isatty(0))
			ended_by = SIGHUP;
		else if (raw_key == CTRL_Z)
			suspend();
		else if (s.is_typed && raw_key != CTRL_C)
			graph_screen_type(&s, key);
		else if (key == 'q')
			is_over = true;
		else
			graph_screen_follow(&s, key);
	}
	curses_end();
	return ended_by;
}

int screen_run(struct top *top, const struct screen_calls *calls)
{
	if (!curses_begin())
		return 0;
	int ended = loop(top, calls);
	curses_end();
	return ended;
}
