/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of `brick top` as views see it: a picture, and where the user is in it. A view is a
 * const table of functions and draws on a canvas; it knows no terminal. A new view goes into
 * top_views (top.c) and raises TOP_VIEWS. One thread.
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
	TOP_KEY_NONE, /* a key without a meaning here */
};
enum { TOP_KEY_TAB = 9, TOP_KEY_ENTER = 10, TOP_KEY_ESCAPE = 27 };

enum top_mode { TOP_BROWSE, TOP_SEARCH, TOP_HELP, TOP_DETAIL, TOP_ASK_QUIT };

struct top;

struct view_class {
	const char *name;  /* for --view, and in JSON */
	const char *title; /* on its tab */
	/* True if the view has a tab now; NULL: always. */
	bool (*is_there)(struct top *top);
	bool is_log; /* shown without a picture, too, and only if there is the program's output */
	/* Makes and arranges the table; the caller calls grid_fini(). NULL: no table. */
	void (*make)(struct grid *grid, struct top *top);
	/* Draws the view. NULL: the table is the whole view. */
	void (*draw)(struct top *top, struct canvas *canvas, int y, int height);
	/*
	 * For views without a table: the number of rows that can be walked through, and the text of
	 * a row for searching, which the caller frees. Use view_rows() and view_row_text().
	 */
	int (*rows)(struct top *top);
	char *(*row_text)(struct top *top, int row);
	/* For views that are text: the lines; the caller frees. */
	char *(*text)(struct top *top);
	const char *nothing; /* shown while there is no line */
	/* Handles keys of its own. False: none of these. NULL: it has none. */
	bool (*key)(struct top *top, int key);
	/* Draws details of the selected row, for Enter; NULL: there are none. */
	void (*detail)(struct top *top, struct canvas *canvas, int y, int height);
};

enum { TOP_VIEWS = 10, TOP_EXPANDED = 4096 };

/* The open nodes of the tree: hashes of the names on the way to them. */
struct top_tree {
	uint64_t flipped[TOP_EXPANDED]; /* nodes that are not as open_depth says */
	size_t flipped_count;		/* entries of `flipped` */
	int open_depth;			/* nodes of a smaller depth are open unless flipped */
};

/* The source of the picture. Texts are safe; struct top_source owns them. */
struct top_about {
	const char *what;  /* the command, or the file */
	const char *state; /* "live", "ended", ..., or "recording" */
	const char *fault; /* why there is no newer picture; NULL: no fault */
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
	int view;			     /* number in top_views */
	struct grid_place places[TOP_VIEWS]; /* of each view */
	struct grid_place detail_place;	     /* in the details */
	struct top_tree tree;
	int side; /* columns by which the heat map is moved */
	enum top_mode mode;
	int phase;	    /* enum step_phase, or SUMMARY_ALL_PHASES */
	bool follows_phase; /* the user chose no phase: decode, once a step decodes */
	bool held;	    /* the user holds the picture */
	double interval_s;  /* between pictures */
	char search[64];    /* the text to search for */
	int search_origin;  /* row that was selected when searching began */
	char message[128];  /* for the user, until the next key; "": none */
	int width, height;  /* of the screen, in cells */
	bool utf8;
};

/* The place in the view that is shown. */
static inline struct grid_place *top_place(struct top *top)
{
	return &top->places[top->view];
}

/* The number of rows that can be walked through, and the text of a row, which the caller frees. */
int view_rows(const struct view_class *view, struct top *top);
char *view_row_text(const struct view_class *view, struct top *top, int row);

void view_draw_table(
	const struct view_class *view, struct top *top, struct canvas *canvas, int y, int height);
void view_draw_text(
	const struct view_class *view, struct top *top, struct canvas *canvas, int y, int height);

/* Draws a sentence where a view has nothing to show. */
void view_draw_nothing(struct canvas *canvas, int y, const char *why);

int view_count_lines(const char *text);

/* The views, in view_NAME.c; views that are lists stand together in view_lists.c, texts in
 * view_text.c. */
extern const struct view_class view_bricks, view_categories, view_layers, view_threads, view_queues,
	view_tree, view_path, view_losses, view_output, view_requests;
