/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that shows a recording in a browser: one HTML document, which needs nothing else, with
 * the numbers in it as JSON, schema brick/page/3 (docs/HTML.md). Its size depends on how many
 * bricks, layers and categories there are, not on how long the run was. `brick report --html`
 * writes it, `brick serve` sends it. All of these but page_template() need memory and say -ENOMEM
 * where it is lacking. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "ui/page/page.h"

/* True if this build has the page; without it only the JSON can be made. */
bool page_available(void);

/* The sentence that says why the page is missing, and how to get it. */
const char *page_missing(void);

/* The use of the page; a served one asks for new numbers now and then. */
enum page_use {
	PAGE_FILE,
	PAGE_SERVED,
	PAGE_LIVE, /* served, and the recording is still being written */
};

/* All numbers of the page: a new reference. */
int page_json(json_t **out, const struct page *page, enum page_use use);

/*
 * Answers of a server, for parts that are not in its page: new references. -ENOENT: no such step.
 */
int page_step_json(json_t **out, const struct page *page, uint64_t number);
int page_range_json(json_t **out, const struct page *page, uint64_t since_ns, uint64_t until_ns);

/*
 * JSON as text that is safe inside of a script element: ASCII, and no '<', '>' or '&' in it. The
 * caller frees.
 */
int page_text(char **out, size_t *bytes, const json_t *data);

/* The document around such a text: before it and behind it. Only where page_available(). */
void page_template(const char **head, size_t *head_bytes, const char **tail, size_t *tail_bytes);

/* Write the document around that data. */
int page_write(const json_t *data, FILE *out);
