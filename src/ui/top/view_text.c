/* SPDX-License-Identifier: Apache-2.0 */
/* The views that are lines of text: losses, and the output of the program. */
#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "ui/text/report_trust.h"
#include "ui/text/text.h"
#include "ui/top/top_view.h"

enum { MAX_BYTES = 256 << 10 };

/* The report's words on how far to trust the numbers. */
static char *view_text_losses(struct top *top)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (text_fail(out ? 0 : -ENOMEM) < 0)
		return NULL;
	report_trust_text(&top->picture->report, top->width > 24 ? (size_t)top->width : 80, out);
	text_fail(fclose(out) == 0 ? 0 : -ENOMEM);
	return text;
}

const struct view_class view_losses = {
	.name = "losses",
	.title = "Losses",
	.text = view_text_losses,
};

/* The end of the log of a program that top has started. Follows the end, unless the user has moved
 * up from it. */
static char *output_text(struct top *top)
{
	char *text = top->about.log ? file_end(top->about.log, MAX_BYTES) : NULL;
	struct grid_place *place = top_place(top);
	int count = text ? view_count_lines(text) : 0;
	if (!place->sort || place->selected >= place->sort - 1)
		place->selected = count ? count - 1 : 0;
	place->sort = count; /* lines there were when it was read last */
	return text;
}

const struct view_class view_output = {
	.name = "output",
	.title = "Output",
	.is_log = true,
	.text = output_text,
	.nothing = "The program has printed nothing so far.",
};
