/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in force in a profiled program: the user's file if BRICK_RULES names one, then, unless
 * that file says otherwise, the attacher's own, which are compiled in. A user's file that is
 * missing or faulty inside of the program is no error there: the attacher's own are used, and the
 * description says so. The command line has refused such a file before the program was started.
 * Loading once, by one thread; then nothing changes: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "attach/rules/rules.h"

struct rule_sets {
	struct rules *of[2]; /* the user's, our own; NULL where there is none */
	char description[256];
};

/* Read the user's file, and our own rules out of text that stays. */
void rule_sets_load(struct rule_sets *sets, const char *text, size_t bytes);

struct rule_outcome {
	uint16_t brick;
	int16_t layer;
	uint32_t flags; /* BRICK_SITE_UNKNOWN_OPERATION when no rule knew the node */
};

/* Finds a node's brick; a node that no rule knows is a brick of its operation's name, in Other. */
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
