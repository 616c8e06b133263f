/* SPDX-License-Identifier: Apache-2.0 */
/* The view of how far to trust the rest: coverage, distortion, losses, notes. */
#include <stdlib.h>
#include <string.h>

#include "analysis/unknown.h"
#include "view/memory.h"
#include "view/report_notes.h"
#include "view/text.h"
#include "view/units.h"
#include "tui/top.h"

struct lines {
	ARRAY(char *) list;
};

static void add(struct lines *lines, char *text)
{
	xpush(&lines->list, text);
}

static void add_coverage(struct lines *lines, const struct picture *p)
{
	const struct summary *s = p->report.summary;
	char share[UNITS_BYTES], wall[UNITS_BYTES], rest[UNITS_BYTES];
	if (!s->wall_ns) {
		add(lines, xstrdup("Coverage    not known: no step has ended"));
		return;
	}
	add(lines, xasprintf("Coverage    %s of %s of %s; %s in no brick",
			   units_percent(share, s->coverage), units_time(wall, s->wall_ns),
			   p->run->step_count ? "steps" : "threads' time",
			   units_time(rest, s->unattributed_ns)));
	char wait[UNITS_BYTES];
	if (s->device_ns)
		add(lines, xasprintf("Devices     %s of %s of commands is of bricks; threads "
				     "waited %s for them",
				   units_percent(share, summary_device_coverage(s)),
				   units_time(wall, s->device_ns),
				   units_time(wait, s->device_wait_ns)));
	if (s->executions != ANALYSIS_UNKNOWN && s->executions > s->samples)
		add(lines,
			xasprintf("Samples     %llu of %llu are here; counts and times are exact, "
				  "shares are from samples",
				(unsigned long long)s->samples, (unsigned long long)s->executions));
	if (s->unknown_operations)
		add(lines, xasprintf("Unknown     %llu executions of operations that no rule knows",
				   (unsigned long long)s->unknown_operations));
}

static void add_distortion(struct lines *lines, const struct picture *p)
{
	const struct distortion *d = &p->report.distortion;
	if (d->share < 0)
		add(lines, xasprintf("Distortion  not known%s%s", d->method[0] ? "; " : "",
				   d->method));
	else
		add(lines, xasprintf("Distortion  %.2f%% (%.2f%% to %.2f%%). %s %s", 100 * d->share,
				   100 * d->low, 100 * d->high,
				   d->is_measured ? "Measured by" : "From", d->method));
}

static void add_losses(struct lines *lines, const struct picture *p)
{
	const struct losses *losses = &p->report.losses;
	uint64_t count;
	const char *what;
	size_t k = 0;
	if (losses->incomplete)
		add(lines, xstrdup("Losses      the recording was never finished"));
	for (; losses_describe(losses, k, &count, &what); k++)
		add(lines, xasprintf("%-12s%llu %s", k || losses->incomplete ? "" : "Losses",
				   (unsigned long long)count, what));
	if (!k && !losses->incomplete)
		add(lines, xstrdup("Losses      nothing was lost"));
}

static void add_notes(struct lines *lines, const struct run *run)
{
	const char *head = "Notes";
	for (size_t i = 0; i < run->note_count; i++) {
		const char *label = report_note_label(run, i);
		if (!label)
			continue;
		char *text = xasprintf("%-12s%s: %s", head, label, run->notes[i].value);
		add(lines, text_safe(text));
		free(text);
		head = "";
	}
}

/* Break what is wider than the screen. */
static void fold(struct lines *lines, int width)
{
	struct lines folded = {0};
	size_t columns = width > 24 ? (size_t)width : 24;
	for (size_t i = 0; i < lines->list.count; i++) {
		char *text = lines->list.items[i];
		size_t indent = 0;
		while (text_width(text) > columns - indent) {
			size_t cut = columns - indent;
			while (cut > 14 && text[cut] != ' ')
				cut--;
			if (text[cut] != ' ' || strlen(text) <= cut)
				break; /* no blank to break at, or wide characters */
			add(&folded, xasprintf("%*s%.*s", (int)indent, "", (int)cut, text));
			char *rest = xstrdup(text + cut + 1);
			free(text);
			text = rest;
			indent = 12;
		}
		add(&folded, xasprintf("%*s%s", (int)indent, "", text));
		free(text);
	}
	array_fini(&lines->list);
	*lines = folded;
}

static struct lines make(struct top *top)
{
	struct lines lines = {0};
	add_coverage(&lines, top->picture);
	add_distortion(&lines, top->picture);
	add_losses(&lines, top->picture);
	add_notes(&lines, top->picture->run);
	fold(&lines, top->width ? top->width : 80);
	return lines;
}

static void destroy(struct lines *lines)
{
	for (size_t i = 0; i < lines->list.count; i++)
		free(lines->list.items[i]);
	array_fini(&lines->list);
}

static void draw(struct top *top, struct canvas *canvas, int y, int height)
{
	struct lines lines = make(top);
	struct grid_place *place = top_place(top);
	grid_scroll(place, (int)lines.list.count, height);
	for (int i = 0; i < height && place->scroll + i < (int)lines.list.count; i++) {
		int number = place->scroll + i;
		canvas_print(canvas, 0, y + i, canvas->width, STYLE_NORMAL, "%s",
			lines.list.items[number]);
		if (number == place->selected)
			canvas_paint(canvas, 0, y + i, canvas->width, STYLE_SELECTED);
	}
	destroy(&lines);
}

static int rows(struct top *top)
{
	struct lines lines = make(top);
	int count = (int)lines.list.count;
	destroy(&lines);
	return count;
}

static char *row_text(struct top *top, int row)
{
	struct lines lines = make(top);
	char *text = xstrdup(row < (int)lines.list.count ? lines.list.items[row] : "");
	destroy(&lines);
	return text;
}

const struct view_class view_losses = {
	.name = "losses",
	.title = "Losses",
	.draw = draw,
	.rows = rows,
	.row_text = row_text,
};
