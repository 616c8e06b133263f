/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that shows a recording in a browser: one HTML document, which needs nothing else, with
 * the numbers in it as JSON, schema brick/page/3 (docs/HTML.md). Its size depends on how many
 * bricks, layers and categories there are, not on how long the run was. `brick report --html`
 * writes it, `brick serve` sends it. Functions that return int return 0 or -ENOMEM, unless they say
 * more. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "ui/page/page.h"

/* True if this build has the page; without it only the JSON can be made. */
bool page_available(void);

/* The sentence that says why the page is missing, and how to get it. */
const char *page_missing(void);

/* The use of the page. */
enum page_use {
	PAGE_FILE,   /* it stands alone, and can ask nobody */
	PAGE_SERVED, /* it asks its server for details and for newer numbers */
	PAGE_LIVE,   /* as PAGE_SERVED, while the run goes on: it asks more often */
};

/* All numbers of the page: a new reference. */
int page_json(json_t **out, const struct page *page, enum page_use use);

/*
 * A server's answers about one step (its number, from 1) and about a range of time: new references.
 * -ENOENT: no such step.
 */
int page_step_json(json_t **out, const struct page *page, uint64_t number);
int page_range_json(json_t **out, const struct page *page, uint64_t since_ns, uint64_t until_ns);

/*
 * JSON as text that is safe inside of a script element: ASCII, and no '<', '>' or '&' in it. The
 * caller frees.
 */
int page_text(char **out, size_t *bytes, const json_t *data);

/* The document before and after such a text; constants. Only if page_available(). */
void page_template(const char **head, size_t *head_bytes, const char **tail, size_t *tail_bytes);

/* Writes the document with that data. Only if page_available(). Errors of `out` stay with it. */
int page_write(const json_t *data, FILE *out);
