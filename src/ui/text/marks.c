/* SPDX-License-Identifier: Apache-2.0 */
/* A recording is on from its begin to the first switch, unless that switches it on. */
#include "ui/text/marks.h"

#include <stdbool.h>
#include <stdlib.h>
#include "base/scope.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"

enum { MARKS_SHOWN = 8 };

static uint64_t marks_since(const struct run *run, const struct run_mark *m)
{
	return m->ns > run->start_ns ? m->ns - run->start_ns : 0;
}

char *marks_switched_text(const struct run *run)
{
	uint64_t on_ns = 0, since_ns = run->start_ns;
	uint64_t end_ns = run->end_ns > run->start_ns ? run->end_ns : run->start_ns;
	unsigned windows = 0, switches = 0;
	bool is_on = true;
	char on[UNITS_BYTES], all[UNITS_BYTES];

	for (size_t i = 0; i < run->mark_count; i++) {
		const struct run_mark *m = &run->marks[i];
		bool off = m->kind == MARK_OFF;
		if ((m->kind != MARK_ON && m->kind != MARK_OFF) || off != is_on)
			continue;
		uint64_t lasted_ns = is_on && m->ns > since_ns ? m->ns - since_ns : 0;
		switches++;
		on_ns += lasted_ns;
		windows += lasted_ns != 0; /* a recorder that began idle is off from the begin */
		since_ns = m->ns;
		is_on = !off;
	}
	if (!switches)
		return NULL;
	on_ns += is_on && end_ns > since_ns ? end_ns - since_ns : 0;
	windows += is_on;
	return text_format("recorded for %s of %s, in %u window%s", units_time(on, on_ns),
		units_time(all, end_ns - run->start_ns), windows, plural_s(windows));
}

char *marks_text(const struct run *run)
{
	char *text = NULL, since[UNITS_BYTES];
	size_t count = 0;

	for (size_t i = 0; i < run->mark_count; i++) {
		const struct run_mark *m = &run->marks[i];
		if (m->kind != MARK_TEXT || count++ >= MARKS_SHOWN)
			continue;
		SCOPED char *safe = text_safe(m->text);
		text_append(&text, "; ", "at %s %s", units_time(since, marks_since(run, m)), safe);
	}
	if (count > MARKS_SHOWN)
		text_append(&text, "; ", "%zu more", count - MARKS_SHOWN);
	return text;
}

json_t *marks_json(const struct run *run)
{
	static const char *const kinds[MARK_KINDS] = {[MARK_TEXT] = "mark",
		[MARK_ON] = "on",
		[MARK_OFF] = "off",
		[MARK_PART] = "part",
		[MARK_NEXT] = "next",
		[MARK_EXEMPLAR] = "exemplar"};
	json_t *list = json_array();

	for (size_t i = 0; i < run->mark_count; i++) {
		const struct run_mark *m = &run->marks[i];
		json_t *mark = json_object();
		json_put(mark, "ns", json_number(marks_since(run, m)));
		json_put(mark, "kind", json_text(kinds[m->kind]));
		json_put(mark, "text", json_text(m->text));
		json_add(list, mark);
	}
	return list;
}
