/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in force in a profiled program: the user's file if BRICK_RULES names one, then, unless
 * that file has "defaults-off", the attacher's own rules, which are compiled in. If the user's file
 * is missing or faulty, the attacher's own rules are used, and the description says so; the command
 * line refuses such a file before it starts the program. One thread loads; then nothing changes:
 * any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "attach/rules/rules.h"

struct rule_sets {
	struct rules *of[2];   /* the user's, the attacher's; NULL: none */
	char description[256]; /* of both, in words */
};

/* Load the user's file, and the attacher's rules from `text`. *sets must be zeroed. */
void rule_sets_load(struct rule_sets *sets, const char *text, size_t bytes);

struct rule_outcome {
	uint16_t brick;
	int16_t layer;	/* -1: none */
	uint32_t flags; /* BRICK_SITE_UNKNOWN_OPERATION when no rule knew the node */
};

/* Find a node's brick. A node that no rule knows gets a brick named after its operation, in Other.
 */
void rule_sets_apply(
	const struct rule_sets *sets, const struct rules_node *node, struct rule_outcome *outcome);

/* The verdict of both sets on a node, the user's first. */
void rule_sets_judge(
	const struct rule_sets *sets, const struct rules_node *node, struct rules_verdict *verdict);

/* The brick that a verdict names; -1: none, or there is no room for it. */
int rule_sets_brick(const struct rules_verdict *verdict);

/* The attacher's own rules as text, compiled in (brick_embed_rules in src/attach/CMakeLists.txt).
 */
extern const char rule_set_default_text[];
extern const size_t rule_set_default_bytes;
