/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for screen_curses.c in a build without a terminal library. */
#include "ui/top/screen.h"

const char *screen_obstacle(void)
{
	return "this build has no terminal view (ncursesw was not there when it was configured; "
	       "Debian: libncurses-dev); --headless --json and --dump 80x24 work without it";
}

int screen_run_graph(struct brick_graph_view *view, const char *title)
{
	return 0;
}

int screen_run(struct top *top, const struct screen_calls *calls)
{
	return 0;
}
