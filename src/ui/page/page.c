/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the page together: gathers the numbers, makes them safe to stand in a script element, and
 * sets them into the bundled document. Called by `brick report --html` and `brick serve`.
 */
#include "ui/page/page.h"

#include <string.h>

#include "brick/version.h"
#include "ui/text/exit_code.h"
#include "ui/text/die.h"
#include "ui/text/json_out.h"
#include "ui/text/memory.h"
#include "ui/page/page_template.h"
#include "ui/text/report_rows.h"

enum { ROWS_MAX = 120 };

int page_available(void)
{
	return page_template_bytes != 0;
}

const char *page_missing(void)
{
	return "this build has no page, because npm could not bundle it; install nodejs and npm "
	       "and build again";
}

size_t page_bricks(const struct page *page)
{
	size_t count = page->report.summary->row_count;
	return count < ROWS_MAX ? count : ROWS_MAX;
}

/* The report of the steps of one phase; null when none of them ended. */
static json_t *phase_json(const struct page *page, enum step_phase phase)
{
	return page->phases[phase].summary ? report_to_json(&page->phases[phase]) : json_null();
}

/* The rows of a table that the page shows, and how many more there are. */
static size_t put_rows(json_t *to, struct report report)
{
	const char *plural = summary_by_plural(report.summary->by);
	size_t all = report.shown;
	report.shown = all < ROWS_MAX ? all : ROWS_MAX;
	json_auto_t *whole = report_to_json(&report);
	json_put(to, plural, json_incref(json_object_get(whole, plural)));
	return all - report.shown;
}

/* Rows by what the page shows as plain tables, and how many more there are; of devices only where
 * there were any; then those of each phase. */
static void put_tables(json_t *root, const struct page *page)
{
	json_t *left_out = json_object(), *phases = json_object();
	for (int i = 0; i < PAGE_TABLES; i++) {
		if (!page->tables[i].summary)
			continue;
		size_t more = put_rows(root, page->tables[i]);
		if (more)
			json_put(left_out, summary_by_plural(page->tables[i].summary->by),
				json_number(more));
	}
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		json_t *tables = json_object();
		for (int i = 0; i < PAGE_TABLES; i++)
			if (page->phase_tables[phase][i].summary)
				put_rows(tables, page->phase_tables[phase][i]);
		json_put(phases, page_phase_keys[phase], tables);
	}
	json_put(root, "left_out", left_out);
	json_put(root, "phase_tables", phases);
}

json_t *page_json(const struct page *page, enum page_use use)
{
	json_t *root = json_object(), *phases = json_object();
	json_put(root, "schema", json_text("brick/page/1"));
	json_put(root, "version", json_text(brick_version()));
	json_put(root, "served", json_boolean(use != PAGE_FILE));
	json_put(root, "live", json_boolean(use == PAGE_LIVE));
	json_put(root, "report", report_to_json(&page->report));
	json_put(phases, "prefill", phase_json(page, STEP_PREFILL));
	json_put(phases, "decode", phase_json(page, STEP_DECODE));
	json_put(phases, "mixed", phase_json(page, STEP_MIXED));
	json_put(root, "phases", phases);
	put_tables(root, page);
	json_put(root, "tables", report_fields_to_json());
	json_put(root, "basis", json_text(report_basis(&page->report)));
	json_put(root, "steps", page_steps(page));
	json_put(root, "layers", page_layers(page));
	json_put(root, "lengths", page_durations(page));
	json_put(root, "each", page_each(page));
	json_put(root, "trees", page_trees(page, use == PAGE_FILE));
	json_put(root, "timeline", page_timeline(page, use == PAGE_FILE));
	json_put(root, "path", page_path(page));
	json_put(root, "roofline", page_roofline(page));
	json_put(root, "tiles", page_tiles(page));
	return root;
}

json_t *page_json_of_run(const struct run *run, enum page_use use)
{
	SCOPED_BY(page_fini) struct page page;
	page_measure(&page, run);
	return page_json(&page, use);
}

struct text {
	ARRAY(char) bytes;
};

static void append(struct text *text, const char *s, size_t n)
{
	xcheck(array_append(&text->bytes, s, n));
}

/* These three stand in strings of JSON only, where an escape means the same. */
static int append_safely(const char *s, size_t n, void *context)
{
	for (size_t i = 0; i < n;) {
		size_t plain = 0;
		while (i + plain < n && !strchr("<>&", s[i + plain]))
			plain++;
		append(context, s + i, plain);
		i += plain;
		if (i < n) {
			char escape[8];
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)s[i++]);
			append(context, escape, 6);
		}
	}
	return 0;
}

char *page_text(const json_t *data, size_t *bytes)
{
	struct text text = {0};
	if (json_dump_callback(data, append_safely, &text,
		    JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) != 0)
		die(CLI_SYSTEM, "out of memory");
	*bytes = text.bytes.count;
	append(&text, "", 1);
	return text.bytes.items;
}

void page_template(const char **head, size_t *head_bytes, const char **tail, size_t *tail_bytes)
{
	static const char mark[] = PAGE_TEMPLATE_MARK;
	const char *at = memmem(page_template_text, page_template_bytes, mark, sizeof(mark) - 1);
	if (!at)
		die(CLI_SYSTEM, "%s", page_missing());
	*head = page_template_text;
	*head_bytes = (size_t)(at - page_template_text);
	*tail = at + sizeof(mark) - 1;
	*tail_bytes = page_template_bytes - *head_bytes - (sizeof(mark) - 1);
}

void page_write(json_t *data, FILE *out)
{
	const char *head, *tail;
	size_t head_bytes, tail_bytes, bytes;
	page_template(&head, &head_bytes, &tail, &tail_bytes);
	SCOPED char *text = page_text(data, &bytes);
	json_decref(data);
	fwrite(head, 1, head_bytes, out);
	fwrite(text, 1, bytes, out);
	fwrite(tail, 1, tail_bytes, out);
}
