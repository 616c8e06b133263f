/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the site of an engine's name for a piece of work: one table for the process, so that equal
 * names have one site on all threads. A new name asks the rules: the user's, then those that are
 * compiled in (rule_sets.h). Entries stay where they are as long as the process lives. Any thread;
 * a lock is taken, so callers keep what they have found.
 */
#pragma once

#include <stdint.h>
#include "attach/rules/rule_sets.h"

struct named_site {
	uint32_t site; /* 0: there was no room for another; the two below are all there is */
	uint16_t brick;
	int16_t layer;
	const char *operation;
};

/*
 * The site of an operation under a name; `kind` is what rules see as the source's name: the class
 * of a module, the provider that executes it. NULL without memory.
 */
const struct named_site *named_site_find(const char *operation, const char *name, const char *kind);

/* Names those rules, and what was wrong with the user's file; for the recording's notes. */
const char *named_sites_rules(void);
