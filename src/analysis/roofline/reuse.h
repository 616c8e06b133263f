/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reuse distance of an execution's data: the bytes that were touched between two uses of the
 * data, these data included. A cache of that size still holds the data.
 *
 * Recordings say what an execution moves, and in which order. Two kinds of data are told apart:
 * - Data of its own (weights, the KV cache): the same node uses them when it is executed again. In
 *   between, the own data of all other nodes are touched once each, and the memory for results, of
 *   which only the largest counts, since engines use that memory again and again.
 * - Data that pass through: the results of the execution before. In between, the bytes that these
 * two executions move are touched. An execution with more than a few operations for an element sums
 * over data of its own: its bytes less the vector that they are multiplied with. All other
 * executions only pass data through.
 *
 * Only some steps of each phase are looked at, each with the step before it; in a run without
 * steps, its beginning. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/steps/step_times.h"
#include "base/array.h"
#include "trace/run.h"

/* As a distance: the data were not touched before, or it is not known which data they are. */
#define REUSE_UNKNOWN UINT64_MAX

/* Bytes of a brick in a phase that have the same reuse distance. */
struct reuse_part {
	uint32_t brick;
	uint8_t phase; /* enum step_phase; STEP_PHASES: in no step */
	bool on_device;
	bool own;	   /* the executions' own data; false: they pass through */
	uint64_t distance; /* bytes; REUSE_UNKNOWN */
	double bytes;	   /* sum over the executions looked at */
};

/* Sorted by brick, phase and device; within these, the greatest distance first. */
struct reuse {
	ARRAY(struct reuse_part) parts;
};

/* -ENOMEM; *reuse is then empty. */
int reuse_init(struct reuse *reuse, const struct run *run, const struct step_index *index);
void reuse_fini(struct reuse *reuse);

/* The parts of a brick in a phase, *count of them; 0: no execution was looked at. Borrowed. */
const struct reuse_part *reuse_parts(
	const struct reuse *reuse, uint32_t brick, int phase, bool on_device, size_t *count);
