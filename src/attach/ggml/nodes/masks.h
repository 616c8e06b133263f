/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The masks of attention (FLASH_ATTN_EXT), and the work that they let through. Shapes alone give an
 * upper bound: llama.cpp pads its cache to 256 positions, of which a text may fill one. Masks are
 * inputs of a graph, so the thread that computes the graph reads each mask once before the first
 * node. The nodes that use the mask are then recorded with the work that it lets through; if a mask
 * cannot be read, the site's counts stay. State is per thread; struct masks is read-only after
 * masks_find() and shared.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "brick/attach.h"
#include "brick/probe.h"

struct known_graph;
struct known_node;
struct masks;

/*
 * The nodes among these that have masks, in order; the caller frees the result with free(), before
 * `nodes`. NULL: no attention, no memory, or the engine's layout or accessors are unknown.
 */
struct masks *masks_find(
	const struct engine *engine, const struct known_node *nodes, uint32_t count);

/*
 * Read the masks of a graph that this thread is about to compute on the CPU. NULL: it has none. The
 * caller holds the graph (known_graph_hold()) until masks_end().
 */
void masks_begin(const struct engine *engine, const struct masks *masks);
void masks_end(void);

enum { MASKS_MAX_WORKS = 256 };	 /* a graph with more nodes with masks has no runs (node_run.h) */
#define MASKS_NOWHERE UINT32_MAX /* the place of a node that a plan does not have */

/* Nodes with masks (0 for NULL), and one of them by its index in order. */
uint32_t masks_count(const struct masks *masks);
const struct known_node *masks_node(const struct masks *masks, uint32_t index);

/*
 * Get the work of the nodes with masks among a plan's nodes [first, first + count), which were just
 * executed; calls go through a plan in order. places: per node with a mask, its place in the plan,
 * ascending, or MASKS_NOWHERE. works: room for masks_count(). Returns how many it filled.
 */
uint32_t masks_works(
	const uint32_t *places, uint32_t first, uint32_t count, struct brick_timing_work *works);

/* As brick_record_timings() and brick_record_sample(), with the work that the masks let through. */
void masks_record_timings(const struct brick_timing *timings, uint32_t count);
void masks_record_sample(const struct brick_sample *sample);
