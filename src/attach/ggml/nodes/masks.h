/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention computes nothing where its mask says so, and shapes do not show masks: llama.cpp pads
 * its cache to 256 positions, of which a text may fill one. Masks are inputs of a graph, so the
 * thread that computes the graph reads each of them once before. The nodes that use a mask are then
 * recorded with the work that it lets through. For a mask that cannot be read the site's counts
 * stay, which are an upper bound. Each thread for itself.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "brick/attach.h"
#include "brick/probe.h"

struct known_graph;
struct known_node;
struct masks;

/* Which of these nodes have masks, in order; free() it. NULL: none, or no memory. */
struct masks *masks_find(
	const struct engine *engine, const struct known_node *nodes, uint32_t count);

/*
 * This thread is about to compute a graph on the CPU: read its masks. The graph must be held until
 * masks_end().
 */
void masks_begin(const struct engine *engine, const struct masks *masks);
void masks_end(void);

/* Nodes with masks, in order. */
enum { MASKS_MAX_WORKS = 256 };
#define MASKS_NOWHERE UINT32_MAX
uint32_t masks_count(const struct masks *masks);
const struct known_node *masks_node(const struct masks *masks, uint32_t index);

/*
 * The work of the nodes with masks among those just executed: `count` of a plan's nodes from
 * `first` on. `places`: where the plan has each node with a mask, ascending, or MASKS_NOWHERE.
 * Returns how many works there are.
 */
uint32_t masks_works(
	const uint32_t *places, uint32_t first, uint32_t count, struct brick_timing_work *works);

/* As brick_record_timings() and brick_record_sample(), with the work that the masks let through. */
void masks_record_timings(const struct brick_timing *timings, uint32_t count);
void masks_record_sample(const struct brick_sample *sample);
