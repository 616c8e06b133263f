/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table from nodes to sites: one for the process, so that equal nodes have one site on all
 * threads and in all graphs. Two nodes are equal if operation, name, type and shape are equal, and
 * those of their sources. Nodes whose names say no layer also need an equal layer. For a new node
 * the rules are applied: the user's file if BRICK_RULES names one, then, unless that file says
 * otherwise, Brick's own, which are compiled in. Slow path: takes a lock. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

struct site_found {
	uint32_t site; /* 0: no room for another site; brick and layer hold all the same */
	uint16_t brick;
	int16_t layer; /* -1: none */
};

/*
 * Find or register the site of a node. mul: the second node of a fused RMS_NORM and MUL, else NULL.
 * part: 0, or 1 for the site's twin, which has no work: threads of a team other than the first
 * record on it, as the first thread's site has the work of the whole node. layer: the node's layer
 * if no name says it; -1: none. The engine must keep the node meanwhile. errno is kept.
 */
void site_table_find(const struct engine *engine, const void *node, const void *mul, int part,
	int layer, struct site_found *found);

/* True if no rule knew the site's operation: its brick has the operation's name. */
bool site_table_is_unknown(uint32_t site);

/* The layer that a node's names say; -1: none. errno is kept. */
int site_table_layer(const struct engine *engine, const void *node);

/* 1: graphs run on several threads, so each new site gets its twin at once. Atomic. */
extern int site_table_wants_parts;

extern pthread_mutex_t site_table_mutex; /* held over forks */

/* Read the rules now rather than at the first node. */
void site_table_ready(void);

/* Describe the rules in force, and errors in the user's file, for the recording's notes. */
void site_table_describe_rules(char *text, size_t bytes);
