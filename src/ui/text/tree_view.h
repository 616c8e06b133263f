/* SPDX-License-Identifier: Apache-2.0 */
/* Call trees in the forms of `brick tree`. Main thread. */
#pragma once

#include <stdio.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/steps/step_times.h"
#include "ui/text/terminal.h"

struct tree_view {
	const struct run *run;
	const struct step_index *index;
	const struct step_times *times;
	unsigned depth; /* levels below the root; 0: all */
	int operations; /* each operation below its brick */
};

/* The times of all steps of the tree's phase. */
static inline const struct step_phase_times *tree_phase(
	const struct tree_view *view, const struct call_tree *tree)
{
	return &view->times->phases[view->run->steps[tree->step].phase];
}

void tree_text(const struct tree_view *view, const struct call_tree *tree,
	const struct terminal *terminal);

/* Print an object {"step" or "steps", "tree"} as part of an answer. */
void tree_json(const struct tree_view *view, const struct call_tree *const *trees, size_t count,
	FILE *out);
