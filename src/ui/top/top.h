/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of `brick top`: a picture, where the user is in it, and what keys do. Knows no
 * terminal: it is drawn on a canvas and fed with keys, by the screen, by --dump and by tests.
 * Each view is a const table of functions in a file of its own. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "ui/top/canvas.h"
#include "ui/top/grid.h"
#include "ui/top/top_history.h"
#include "ui/top/picture.h"

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

/* What the caller has to do after a key. */
enum top_action { TOP_STAY, TOP_QUIT, TOP_RESET };

enum top_mode { TOP_BROWSE, TOP_SEARCH, TOP_HELP, TOP_DETAIL, TOP_ASK_QUIT };

struct top;

struct view_class {
	const char *name;  /* for --view, and in JSON */
	const char *title; /* of its tab */
	/* The table of a view that has one, arranged; the caller calls grid_fini(). */
	void (*make)(struct grid *grid, struct top *top);
	/* NULL: the table is all that there is. */
	void (*draw)(struct top *top, struct canvas *canvas, int y, int height);
	/* Of views without a table: rows that can be walked through, and the text of one for
	   searching; the caller frees. */
	int (*rows)(struct top *top);
	char *(*row_text)(struct top *top, int row);
	/* Of one that is text: its lines, that can be walked through; the caller frees. */
	char *(*text)(struct top *top);
	const char *nothing; /* what stands there while there is no line */
	/* Keys of its own; false: not one of them. May be NULL. */
	bool (*key)(struct top *top, int key);
	/* Of the selected row, for Enter; NULL: there is none. */
	void (*detail)(struct top *top, struct canvas *canvas, int y, int height);
};

enum { TOP_VIEWS = 10, TOP_EXPANDED = 4096 };

/* Which nodes of the tree are open: hashes of the names on the way to them. */
struct top_tree {
	uint64_t flipped[TOP_EXPANDED]; /* those that differ from `open_depth` */
	size_t flipped_count;
	int open_depth; /* nodes above it are open unless flipped */
};

/* What the caller knows of where the picture comes from. Texts are safe, and the caller's. */
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
	/* What it is held against, a whole recording, and its name; NULL: nothing */
	struct picture *baseline;
	char *baseline_name;
	struct history history, before; /* before: of the baseline */
	struct top_about about;
	int view; /* index into top_views */
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

extern const struct view_class *const top_views[TOP_VIEWS];

void top_init(struct top *top, bool utf8);
void top_fini(struct top *top);

/* The phase to look at in a newer run: what was chosen, or what there is. */
int top_phase_of(struct top *top, const struct run *run);

/* Show a newer picture; the old one is destroyed. */
void top_picture_set(struct top *top, struct picture *picture);

/* Hold pictures against this one, of a whole recording; takes it and its name, a safe text. */
void top_baseline_set(struct top *top, struct picture *baseline, char *name);

/* Look at another phase. */
void top_phase_set(struct top *top, int phase);

/* A view by its name, or by a beginning that only one has; -1: there is none. */
int top_view_find(const char *name);

void top_draw(struct top *top, struct canvas *canvas);
enum top_action top_key(struct top *top, int key);

/* The place in the view that is shown. */
struct grid_place *top_place(struct top *top);

/* Rows of the view that is shown, and the text of one; the caller frees it. */
int top_rows(struct top *top);
char *top_row_text(struct top *top, int row);
void top_draw_table(struct top *top, struct canvas *canvas, int y, int height);
void top_draw_text(struct top *top, struct canvas *canvas, int y, int height);
int top_count_lines(const char *text);

/* Parts of top_draw(). */
enum { TOP_HEADER_LINES = 5 };
void top_draw_header(struct top *top, struct canvas *canvas);
void top_draw_help(struct top *top, struct canvas *canvas, int y, int height);

/* What stands where a view has nothing to show. */
void top_draw_nothing(struct canvas *canvas, int y, const char *why);

/* The views, for top_views. */
extern const struct view_class view_bricks, view_categories, view_layers, view_threads, view_queues,
	view_tree, view_path, view_roofline, view_losses, view_output;
