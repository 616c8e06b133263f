/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of a comparison, schema brick/diff-page/2 (docs/HTML.md): the answer of `brick diff
 * --json`, the steps of each recording over time, and the times of layers and bricks on both sides.
 * Recordings are added one after the other, and each may be freed after its call. Main thread.
 */
#pragma once

#include <stdio.h>
#include "analysis/compare/compare_series.h"
#include "trace/run.h"
#include "ui/text/diff.h"

struct page_diff;

/* NULL: not enough memory. */
struct page_diff *page_diff_create(void);
void page_diff_destroy(struct page_diff *diff);

/* Adds the times of layers and bricks in a recording of side 0 (A) or 1 (B). -ENOMEM. */
int page_diff_add(struct page_diff *diff, int side, const struct run *run);

/*
 * Writes the HTML document. series: one of each recording, those of A before those of B. Only if
 * page_available(). -ENOMEM; errors of `out` stay with it.
 */
int page_diff_write(const struct page_diff *diff, const struct diff_view *view,
	const struct compare_series *series, FILE *out);
