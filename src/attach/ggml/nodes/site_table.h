/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a node to its site: one table for the process, so that equal nodes have one site on all
 * threads and in all graphs. Two nodes are equal when their operation, name, type and shape are,
 * and those of their sources. A new node asks the rules: the user's file when BRICK_RULES names
 * one, then, unless that file says otherwise, Brick's own, which are compiled in. Slow path: takes
 * a lock. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

struct site_found {
	uint32_t site; /* 0: there was no room for another; the two below are all there is */
	uint16_t brick;
	int16_t layer;
};

/*
 * The site of a node; `mul` is the second node of a fused RMS_NORM and MUL, NULL for others. With
 * `part`, its twin: the same place without any work, for threads that do a part of an execution
 * that is counted on another. `layer` is the one that it lies in if no name says so, -1: none.
 * Names are read from the engine's memory while it executes the node. errno is kept.
 */
void site_table_find(const struct engine *engine, const void *node, const void *mul, int part,
	int layer, struct site_found *found);

/* The layer that names say for a node, -1: none. */
int site_table_layer(const struct engine *engine, const void *node);

/* Set when graphs run on several threads: twins are then made along with their sites. */
extern int site_table_wants_parts;

extern pthread_mutex_t site_table_mutex; /* held over forks */

/* Read the rules now, rather than when the first node needs them. */
void site_table_ready(void);

/* Which rules those are, and what was wrong with the user's file; for the recording's notes. */
void site_table_describe_rules(char *text, size_t bytes);
