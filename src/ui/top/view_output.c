/* SPDX-License-Identifier: Apache-2.0 */
/* The view of what the program printed, where top has started it: the end of its log. */
#include "base/file.h"
#include "ui/text/memory.h"
#include "ui/top/top.h"

enum { MAX_BYTES = 256 << 10 };

/* Follows the end, unless the user has moved up from it. */
static char *text(struct top *top)
{
	char *text = top->about.log ? file_end(top->about.log, MAX_BYTES) : NULL;
	struct grid_place *place = top_place(top);
	int count = text ? top_count_lines(text) : 0;
	if (!place->sort || place->selected >= place->sort - 1)
		place->selected = count ? count - 1 : 0;
	place->sort = count; /* lines there were when it was read last */
	return text ? text : xstrdup("");
}

const struct view_class view_output = {
	.name = "output",
	.title = "Output",
	.text = text,
	.nothing = "The program has printed nothing so far.",
};
