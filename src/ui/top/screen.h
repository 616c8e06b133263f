/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: shows canvases and hands in keys. The one place that knows a terminal library;
 * screen_none.c stands in for it where there is none. Main thread.
 */
#pragma once

#include "ui/top/top.h"

struct screen_calls {
	/* Look for a newer picture; returns ms until it is to be called again. */
	unsigned (*look)(void *context);
	void (*reset)(void *context);
	void *context;
};

/* Why there can be no screen, and how to get one; NULL: there can. */
const char *screen_obstacle(void);

/* Show and follow keys until the user quits (0) or a signal ends it (its number). */
int screen_run(struct top *top, const struct screen_calls *calls);
