/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: shows canvases and hands in keys. Only screen_curses.c knows a terminal library;
 * screen_none.c stands in where there is none. Main thread.
 */
#pragma once

#include "brick/graph_view.h"
#include "ui/top/top.h"

struct screen_calls {
	/* Looks for a newer picture; returns the ms until the next call. */
	unsigned (*look)(void *context);
	void (*reset)(void *context); /* counts from now on */
	void *context;		      /* of both */
};

/* Why there can be no screen, and how to get one; NULL: there can be one. */
const char *screen_obstacle(void);

/*
 * Shows an execution graph as a tree, and follows keys: arrows and page keys move, Enter and Space
 * open or close, '/' searches and 'n' goes on, 'q' quits. title: safe text. Returns as below.
 */
int screen_run_graph(struct brick_graph_view *view, const char *title);

/* Shows `top` and follows keys. Returns 0 when the user quits, or the number of a signal. */
int screen_run(struct top *top, const struct screen_calls *calls);
