/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reuse distance of an execution's data: the bytes that were touched since it last touched
 * them, its own included. A cache that holds as much still has them.
 *
 * Recordings say what an execution moves, and in which order. Two kinds of data are told apart:
 * - Data of its own (weights, the KV cache): the same node finds them again when it is executed
 *   again. Between lie the own data of all other nodes, each once, and the largest of what nodes
 *   pass on: engines use that memory again and again.
 * - Data that pass through: the results of the execution before it. Between lie the bytes that
 * these two move. A result that takes more than a few operations for an element is a sum over data
 * of its own, less the vector that it is multiplied with; all else only passes data through.
 *
 * It looks at some steps of each phase, with the step before them; in a run without steps, at its
 * beginning. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/steps/step_times.h"
#include "base/array.h"
#include "trace/run.h"

#define REUSE_UNKNOWN UINT64_MAX /* not touched before, or nobody knows which data they are */

/* Bytes of a brick in a phase (STEP_PHASES: in no step) that were found at a distance. */
struct reuse_part {
	uint32_t brick;
	uint8_t phase;
	bool on_device;
	bool own; /* else they pass through */
	uint64_t distance;
	double bytes; /* of all executions looked at */
};

/* Parts by brick, phase and device, the farthest first in each. */
struct reuse {
	ARRAY(struct reuse_part) parts;
};

/* -ENOMEM; *reuse is then empty. */
int reuse_init(struct reuse *reuse, const struct run *run, const struct step_index *index);
void reuse_fini(struct reuse *reuse);

/* The parts of a brick in a phase; *count 0: none were looked at. */
const struct reuse_part *reuse_parts(
	const struct reuse *reuse, uint32_t brick, int phase, bool on_device, size_t *count);
