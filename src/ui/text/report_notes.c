/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a recording in a report for people: those of the heading, and what else was noted. */
#include "ui/text/report_notes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/inject/attachers.h"
#include "ui/text/terminal.h"
#include "ui/text/provenance.h"

/* Notes that belong into the heading beside those of attachers; the others stand at the end. */
static const struct attacher_note common_notes[] = {
	{"backend", "Backend"},
	{"attach", "Attached by"},
	{"steps", "Steps by"},
	{"layers", "Layers by"},
	{0},
};

static const struct attacher_note *find(const struct attacher_note *notes, const char *key)
{
	for (; notes && notes->key; notes++)
		if (!strcmp(key, notes->key))
			return notes;
	return NULL;
}

/* NULL: it does not belong into the heading. */
static const struct attacher_note *heading(const char *key)
{
	for (const struct attacher *const *a = attachers; *a; a++)
		if (find((*a)->notes, key))
			return find((*a)->notes, key);
	return find(common_notes, key);
}

static void print_heading_notes(const struct report *report, const struct terminal *terminal,
	const struct attacher_note *notes)
{
	for (; notes && notes->key; notes++) {
		SCOPED const char **values =
			notes->label ? provenance_notes(report->run, notes->key) : NULL;
		for (size_t k = 0; values && values[k]; k++)
			paragraph(terminal, REPORT_LABEL, k ? "" : notes->label, "%s", values[k]);
	}
}

void report_headings(const struct report *report, const struct terminal *terminal)
{
	for (const struct attacher *const *a = attachers; *a; a++)
		print_heading_notes(report, terminal, (*a)->notes);
	print_heading_notes(report, terminal, common_notes);
}

/* Whether another process has said the same, or all is as it should be. */
static bool is_redundant(const struct run *run, size_t note)
{
	const struct run_note *here = &run->notes[note];
	if (!strcmp(here->key, "session.end") && !strcmp(here->value, "closed"))
		return true;
	if (!strcmp(here->key, "rules") && !strcmp(here->value, "default"))
		return true;
	for (size_t i = 0; i < note; i++)
		if (!strcmp(run->notes[i].key, here->key) &&
			!strcmp(run->notes[i].value, here->value))
			return true;
	return false;
}

const char *report_note_title(const char *key)
{
	const struct attacher_note *there = heading(key);

	if (!strncmp(key, "capture.", 8) || !strcmp(key, "helper.cpu")) /* in the distortion */
		return NULL;
	return there ? there->label : key;
}

void report_notes(const struct report *report, const struct terminal *terminal)
{
	const struct run *run = report->run;
	const char *label = "Notes";
	terminal_begin(terminal, STYLE_DIM);
	for (size_t i = 0; i < run->note_count; i++) {
		if (heading(run->notes[i].key) || is_redundant(run, i) ||
			!report_note_title(run->notes[i].key))
			continue;
		paragraph(terminal, REPORT_LABEL, label, "%s: %s", run->notes[i].key,
			run->notes[i].value);
		label = "";
	}
	terminal_end(terminal, STYLE_DIM);
}
