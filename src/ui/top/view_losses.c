/* SPDX-License-Identifier: Apache-2.0 */
/* The view of how far to trust the rest, in the words of the report. */
#include <stdio.h>

#include "ui/text/memory.h"
#include "ui/top/top.h"

static char *text(struct top *top)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	xcheck(out ? 0 : -1);
	report_trust_text(&top->picture->report, top->width > 24 ? (size_t)top->width : 80, out);
	fclose(out);
	xcheck(text ? 0 : -1);
	return text;
}

const struct view_class view_losses = {
	.name = "losses",
	.title = "Losses",
	.text = text,
};
