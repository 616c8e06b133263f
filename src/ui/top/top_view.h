/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of `brick top`, a picture and where the user is in it, as views see it. Each view is a
 * const table of functions; views know no terminal, they draw on a canvas. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "ui/top/canvas.h"
#include "ui/top/grid.h"
#include "ui/top/picture.h"
#include "ui/top/top_history.h"

/* Keys that are no characters; others are their code points. */
enum top_key {
	TOP_KEY_UP = 0x200000,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACK_TAB,
	TOP_KEY_BACKSPACE,
	TOP_KEY_RESIZE,
	TOP_KEY_NONE, /* one that means nothing here */
};
enum { TOP_KEY_TAB = 9, TOP_KEY_ENTER = 10, TOP_KEY_ESCAPE = 27 };

enum top_mode { TOP_BROWSE, TOP_SEARCH, TOP_HELP, TOP_DETAIL, TOP_ASK_QUIT };

struct top;

struct view_class {
	const char *name;  /* for --view, and in JSON */
	const char *title; /* of its tab */
	/* True if the view has a tab now; NULL: always. */
	bool (*is_there)(struct top *top);
	bool is_log; /* there only where the program's output is, also without a picture */
	/* The table of a view that has one, arranged; the caller calls grid_fini(). */
	void (*make)(struct grid *grid, struct top *top);
	/* NULL: the table is all that there is. */
	void (*draw)(struct top *top, struct canvas *canvas, int y, int height);
	/*
	 * For views without a table: rows that can be walked through, and the text of one for
	 * searching; the caller frees.
	 */
	int (*rows)(struct top *top);
	char *(*row_text)(struct top *top, int row);
	/* Views that are text: the lines; the caller frees. */
	char *(*text)(struct top *top);
	const char *nothing; /* text while there is no line */
	/* Keys of its own; false: not one of them. May be NULL. */
	bool (*key)(struct top *top, int key);
	/* Details of the selected row, for Enter; NULL: there are none. */
	void (*detail)(struct top *top, struct canvas *canvas, int y, int height);
};

enum { TOP_VIEWS = 10, TOP_EXPANDED = 4096 };

/* The open nodes of the tree: hashes of the names on the way to them. */
struct top_tree {
	uint64_t flipped[TOP_EXPANDED]; /* those that differ from `open_depth` */
	size_t flipped_count;
	int open_depth; /* nodes above it are open unless flipped */
};

/* The source of the picture. Texts are safe, and the caller's. */
struct top_about {
	const char *what;  /* the command, or the file */
	const char *state; /* "live", "ended", ...: of a recording "recording" */
	const char *fault; /* why there is no newer picture; NULL: all is well */
	const char *log;   /* file with the program's output; NULL: none */
	bool running;	   /* quitting would end a program */
	bool over;	   /* no newer picture will come */
};

struct top {
	struct picture *picture; /* NULL: nothing yet */
	/* A whole recording that the picture is compared with, and its name; NULL: none */
	struct picture *baseline;
	char *baseline_name;
	struct history history; /* of a live process */
	struct top_about about;
	int view; /* its number */
	struct grid_place places[TOP_VIEWS];
	struct grid_place detail_place;
	struct top_tree tree;
	int side; /* columns that the heat map is moved by */
	enum top_mode mode;
	int phase;	    /* enum step_phase, or SUMMARY_ALL_PHASES */
	bool follows_phase; /* nobody has chosen one: decode as soon as there is any */
	bool held;
	double interval_s;
	char search[64];
	int search_origin; /* row that was selected when searching began */
	char message[128];
	int width, height;
	bool utf8;
};

/* The place in the view that is shown. */
static inline struct grid_place *top_place(struct top *top)
{
	return &top->places[top->view];
}

/* Rows that can be walked through, and the text of one; the caller frees it. */
int view_rows(const struct view_class *view, struct top *top);
char *view_row_text(const struct view_class *view, struct top *top, int row);

void view_draw_table(
	const struct view_class *view, struct top *top, struct canvas *canvas, int y, int height);
void view_draw_text(
	const struct view_class *view, struct top *top, struct canvas *canvas, int y, int height);

/* A sentence where a view has nothing to show. */
void view_draw_nothing(struct canvas *canvas, int y, const char *why);

int view_count_lines(const char *text);

/* The views, each in view_NAME.c, those that are lists together in view_lists.c. */
extern const struct view_class view_bricks, view_categories, view_layers, view_threads, view_queues,
	view_tree, view_path, view_losses, view_output, view_requests;
