/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of CUDA graphs: which brick was open when a node was made, so that its kernel has a parent
 * at every replay, and how many records one launch of a graph brings. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "brick/attach.h"

/* A node was made while this brick and layer were open (BRICK_NONE: none); whose work it tells of.
 */
void nodes_created(
	uint64_t node, uint32_t brick, int32_t layer, const struct brick_launch_owner *work);

/* A copy of it, as graphs are copied when they are instantiated. */
void nodes_cloned(uint64_t node, uint64_t original);

/* It is forgotten some rounds later: records of its last replays are still to come. */
void nodes_destroyed(uint64_t node);
void nodes_next_round(void);

/* Brick and layer of a node; 0 when it is not known. */
int nodes_find(
	uint64_t node, uint32_t *brick, int32_t *layer, const struct brick_launch_owner **work);

/* Nodes for which there was no room. */
uint64_t nodes_lost(void);

/* An executable graph, one launch of which brings so many records; 0: not known. */
void nodes_exec(cuda_handle exec, uint32_t records);
void nodes_exec_gone(cuda_handle exec);
uint32_t nodes_exec_records(cuda_handle exec);
