/* SPDX-License-Identifier: Apache-2.0 */
/* A breakdown by a walk of its own. */
#pragma once

#include "analysis/accounts/breakdown.h"

static inline int breakdown_create(
	struct breakdown **out, const struct run *run, const struct step_index *index)
{
	struct breakdown *b;
	struct walk walk;

	*out = NULL;
	walk_init(&walk, run, index);
	int rc = breakdown_create_in(&b, &walk);
	if (rc < 0)
		return rc;
	rc = walk_run(&walk);
	if (rc < 0)
		breakdown_destroy(b);
	else
		*out = b;
	return rc;
}
