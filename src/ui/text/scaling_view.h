/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `brick scaling`, and its forms. Main thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "analysis/accounts/presence.h"
#include "analysis/scaling/scaling.h"

struct scaling_view {
	const struct run *run;
	const struct scaling *scaling;
	struct presence presence;
};

void scaling_text(const struct scaling_view *view, FILE *out);

void scaling_svg(const struct scaling_view *view, FILE *out);

/* Schema brick/scaling/1; a new reference. */
json_t *scaling_to_json(const struct scaling_view *view);

/* The numbers of a picture. A new reference. */
json_t *scaling_to_chart(const struct scaling_view *view);

/*
 * A picture has the series with the most steps, and of it FlashAttention, the FFN as one, the step,
 * and the longest others.
 */
enum { SCALING_SHOWN = 6 };
struct scaling_shown {
	const struct scaling_series *series;
	int count;
	struct {
		const char *name, *category; /* NULL: of several */
		const struct scaling_line *line;
	} lines[SCALING_SHOWN];
	double end; /* the longest context in it */
};
void scaling_choose(struct scaling_shown *shown, const struct scaling_view *view);

/* Times the longest context to which lines go on at most. */
enum { SCALING_AHEAD = 4 };

/* Beyond what was measured a line goes on only if it surely grows. */
static inline bool scaling_is_modelled(
	const struct scaling_series *series, const struct scaling_line *line)
{
	return scaling_grows(line) && !scaling_drifted(series);
}
