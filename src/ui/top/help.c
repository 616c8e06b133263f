/* SPDX-License-Identifier: Apache-2.0 */
/* What keys there are. Called by top_draw(). */
#include "ui/top/top.h"

static const char *const lines[] = {
	"1-9 0, Tab, left, right, h l  other view        p  all phases, decode, prefill",
	"up down PgUp PgDn g G, j k    move              Enter  more of the row",
	"/  search   n N  next, previous                 s  sort by the next column",
	"Space  hold the picture                         S  the other way round",
	"+ -  faster, slower                             r  count from now on (live)",
	"?  this help                                    q  quit",
	"",
	"Tree:   Enter, right, l: open   left, h: close   e: open all   c: close all",
	"Layers: < and > move the columns",
	"",
	"Times are of the thread that runs the steps (SHARE, /TOKEN) or of all threads.",
	"Of a live process SHARE, the tree, layers and threads are of its last moments;",
	"counts, times and percentiles are exact since its start, or since r. AVG, P50, P99 and",
	"rates are of the time on the CPU where the details (Enter) say BASIS cpu.",
	"",
	"Any key goes back.",
};

void top_draw_help(struct top *top, struct canvas *canvas, int y, int height)
{
	for (int i = 0; i < (int)(sizeof(lines) / sizeof(lines[0])) && i < height; i++)
		canvas_text(canvas, 1, y + i, canvas->width - 2, STYLE_NORMAL, lines[i]);
}
