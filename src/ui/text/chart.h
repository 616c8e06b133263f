/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of all pictures of curves: their look, legible on light and dark, and round axes. */
#pragma once

#include <math.h>

/* The beginning of a <style>: the page, its text, lines behind what is drawn. */
#define CHART_STYLE                                                                        \
	"svg{--bg:#fff;--ink:#1f2328;--soft:#59636e;--grid:#e7eaee;"                       \
	"font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"  \
	"background:var(--bg)}\n"                                                          \
	"@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--ink:#e6edf3;--soft:#9198a1;" \
	"--grid:#21262d}}\n"                                                               \
	"text{fill:var(--ink);font-size:12px}\n"                                           \
	".page{fill:var(--bg)}\n"                                                          \
	".title{font-size:18px;font-weight:600}\n"                                         \
	".soft{fill:var(--soft)}\n"                                                        \
	".grid{stroke:var(--grid);fill:none}\n"                                            \
	".frame{stroke:var(--soft);fill:none}\n"

/* The next of 1, 2, 5 times a power of ten; value > 0. */
static inline double chart_round_up(double value)
{
	double power = pow(10, floor(log10(value)));
	double digit = value / power;

	return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
}
