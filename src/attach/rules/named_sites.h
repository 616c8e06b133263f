/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table from an engine's names of operations to sites: one for the process, so that equal names
 * have one site on all threads. For a new name the rules are applied (rule_sets.h). Entries are
 * never freed or moved. Any thread; a lookup takes a lock, so callers keep the result.
 */
#pragma once

#include <stdint.h>
#include "attach/rules/rule_sets.h"
#include "brick/brick.h"

struct named_site {
	uint32_t site; /* 0: no room for another site; brick and layer hold all the same */
	uint16_t brick;
	int16_t layer; /* -1: none */
	const char *operation;
};

/*
 * Find or register the site of an operation with a name. kind: the class of the module, or the
 * provider that executes the operation; rules see it as the name of the source. NULL: no memory.
 */
const struct named_site *named_site_find(const char *operation, const char *name, const char *kind);

/*
 * The same for an operation on numbers of a type: "aten::linear(float64)" is its operation. Rules
 * see it without the type.
 */
const struct named_site *named_site_find_typed(
	const char *operation, const char *name, const char *kind, const char *type);

/* The type of an operator that another one calls: rules say nothing of it, and its brick is called
 * as its operation. */
#define NAMED_SITE_INNER "inner"

/* End an execution of the site's brick: of the site, if there was room for it. */
static inline void named_site_end(const struct named_site *site, brick_span span)
{
	if (site->site)
		brick_end_site(span, site->site);
	else
		brick_end(span);
}

/* The rules in force, and errors in the user's file, in words for the recording's notes. */
const char *named_sites_rules(void);
