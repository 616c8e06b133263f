/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the sums of estimated lengths may be off (source "estimated": CUDA graphs recorded
 * lightly). Replays that were measured say how much the length of a row's commands varies from one
 * to the next; estimates are copies of these. Replays are alike if they ran the same kernels. Pure;
 * one thread.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "base/hashmap.h"
#include "trace/run.h"

struct estimated_call; /* a host's call, with its commands */
struct estimated_part; /* a row's commands in replays that are alike */

struct estimated_times {
	const struct run *run; /* NULL: nothing is estimated */
	ARRAY(struct estimated_call) calls;
	uint32_t *call_of; /* [command_count] */
	struct hashmap part_of;
	ARRAY(struct estimated_part) parts;
};

/* -ENOMEM; *times is then empty. */
int estimated_times_init(struct estimated_times *times, const struct run *run);
void estimated_times_fini(struct estimated_times *times);

/* Adds a sample of a queue to a row. Rows have any numbers. -ENOMEM. */
int estimated_times_add(struct estimated_times *times, uint64_t row, uint32_t lane, uint32_t sample,
	uint64_t length_ns);

/*
 * Half the width of the 95 % interval of a row's sum of lengths, 0: nothing of it is estimated,
 * ANALYSIS_UNKNOWN: not known.
 */
uint64_t estimated_times_error_ns(const struct estimated_times *times, uint64_t row);
