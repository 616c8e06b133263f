/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a node to its site: one table for the process, so that equal nodes have one site on all
 * threads and in all graphs. Two nodes are equal when their operation, name, type and shape are,
 * and those of their sources. Slow path: takes a lock, asks the rules when a node is new. Any thread.
 */
#ifndef BRICK_ATTACH_GGML_SITE_TABLE_H
#define BRICK_ATTACH_GGML_SITE_TABLE_H

#include <stdint.h>
#include "attach/ggml/engine.h"

/* A site and its twin, which is the same place with no work of its own. */
struct site_pair {
	uint32_t whole; /* 0: there was no room for another site */
	uint32_t part;  /* for threads that do a part of an execution that is counted elsewhere */
	uint16_t brick; /* for records without a site */
	int16_t layer;
};

/*
 * The sites of a node; `mul` is the second node of a fused RMS_NORM and MUL, NULL for others. The
 * names are read from the engine's memory while it executes the node. errno is kept.
 */
void site_table_find(const struct engine *engine, const void *node, const void *mul,
	struct site_pair *pair);

/* Registered bricks for the operation alone, for work that has no tensor; 0 when the table is full. */
uint32_t site_table_named(const char *operation, const char *label, uint16_t brick);

void site_table_lock(void);
void site_table_unlock(void);

#endif
