/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that turn an engine's operations and annotations into bricks. A rule file is text; its
 * first line that is no comment is "brick-rules 1", then, one per line, '#' as the first character
 * starting a comment:
 *
 *   layer  PATTERN                           where a layer's number stands in a name
 *   outside NAME [SOURCE]                    such nodes, if they read that, lie in no layer
 *   node   OPERATION NAME SOURCE BRICK [CATEGORY]
 *   inside BEFORE AFTER                      an annotation that begins with BEFORE: its name
 *                                            stands between the two
 *   cut    TEXT                              an annotation's name ends in front of TEXT
 *   step   PATTERN PHASE | COUNT...          annotations of these names are steps
 *   defaults-off                             in a user's file: Brick's own rules are not used
 *
 * Words are separated by blanks. The first node rule whose three patterns match wins. SOURCE must
 * match the name of one of the node's sources (its weights, usually), or "@OPERATION" of one of
 * them; "*" also matches a node without any. A pattern is alternatives joined by '|'; in each, '*'
 * stands for any characters, '?' for one, '#' for a whole number (its value is the layer, in layer
 * patterns). The first layer pattern that matches the node's own name, or else one of its sources'
 * names, gives the layer. A BRICK that is not well known needs its CATEGORY on its first line.
 *
 * An annotation is a text that a program says of its own work (NVTX, ITT). A node rule meets it
 * with its domain as OPERATION and its name as NAME; only "*" matches as SOURCE. In BEFORE, AFTER
 * and TEXT a '?' stands for any character. PHASE is prefill, decode, mixed, warm-up or other. Each
 * COUNT says of one '#' in PATTERN what it counts: prompt (tokens of prompts), output (tokens from
 * which new ones are made), prompts (requests whose tokens are not known), or - for nothing.
 *
 * Parsed rules never change: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "brick/probe.h"

struct rules;

struct rules_error {
	uint32_t line; /* from 1; 0: the file cannot be read */
	char text[160];
};

/*
 * Parse `bytes` bytes of text (they need not end in NUL, and are not kept). 0 and *out, or
 * BRICK_EFORMAT with the first faulty line in *error, or -ENOMEM.
 */
int rules_parse(struct rules **out, const char *text, size_t bytes, struct rules_error *error);
void rules_destroy(struct rules *rules); /* NULL is allowed */

/* Read and parse a file: the same, or -errno when it cannot be read (line 0 then). */
int rules_load(struct rules **out, const char *path, struct rules_error *error);

/* A node's facts. Texts are never NULL. */
struct rules_source {
	const char *name, *operation;
};
struct rules_node {
	const char *operation, *name;
	const struct rules_source *sources; /* [source_count] */
	uint32_t source_count;
};

/* The rules' verdict on a node; its texts are valid until rules_destroy(). */
struct rules_verdict {
	const char *brick;    /* NULL: no rule knows this node */
	const char *category; /* NULL: that of the well-known brick */
	int layer;	      /* -1: none found */
};

void rules_apply(
	const struct rules *rules, const struct rules_node *node, struct rules_verdict *verdict);

/* Find the part of an annotation's text that is its name: *name in text; returns its bytes. */
size_t rules_name(const struct rules *rules, const char *text, size_t bytes, const char **name);

/* The result of a step rule. */
struct rules_step {
	enum brick_phase phase;
	uint32_t prompt, output; /* tokens; 0: none, or not known */
};

/* True, and *step, if annotations of this name are steps. */
bool rules_step(const struct rules *rules, const char *name, struct rules_step *step);

/* True if "defaults-off" was given. */
bool rules_defaults_off(const struct rules *rules);

/* True if text matches pattern; a '#' sets *number, which is untouched otherwise. */
bool rules_pattern_matches(const char *pattern, const char *text, int *number);
