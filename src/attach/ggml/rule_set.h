/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules in force in this process: the user's file when BRICK_RULES names one, then, unless it
 * says otherwise, Brick's own, which are compiled in. Any thread; read once, never changed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "attach/ggml/nodes/node_text.h"

struct rule_outcome {
	uint16_t brick;
	int16_t layer;
	uint32_t flags; /* BRICK_SITE_UNKNOWN_OPERATION when no rule knew the node */
};

/* The brick of a node; one that no rule knows gets a brick of its operation's name, in Other. */
void rule_set_apply(const struct node_text *text, struct rule_outcome *outcome);

/* Read them now, rather than when the first node needs them. */
void rule_set_ready(void);

/* Which rules those are, and what was wrong with the user's file; for the recording's notes. */
void rule_set_describe(char *text, size_t bytes);

/* Brick's own rules as text (src/attach/rules/ggml-llama.rules), compiled in. */
extern const char rule_set_default_text[];
extern const size_t rule_set_default_bytes;
