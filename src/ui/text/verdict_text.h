/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentence of a comparison, and the names of its rows, the same in `brick bench`, `brick diff`,
 * its page and its JSON. Any thread.
 */
#pragma once

#include "analysis/compare/compare.h"
#include "ui/text/terminal.h"

/*
 * "B is faster than A by decode tokens/s: 1.58x (1.49 to 1.92)", "mixed: decode 3.2x faster,
 * prefill 0.65x, wall -38 %; by decode tokens/s B is faster than A"; the caller frees.
 */
char *verdict_text(const struct compare *compare);

enum terminal_style verdict_style(const struct compare *compare);

/* "decode tokens/s" for a row of the whole; else the row's own name. The caller frees. */
char *verdict_row_name(const struct compare_row *row);

/* The row at a place, from 0, of compare_order(); NULL: there is none. */
const struct compare_row *verdict_row(const struct compare *compare, size_t place);
