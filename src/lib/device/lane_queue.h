/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of queues. */
#pragma once

#include "brick/queue.h"
#include "brick/abi/lane.h"

/* A lane that a queue writes to. The lane stays mapped after its session, as those of threads. */
struct brick__queue_lane {
	struct brick_lane *lane;
	struct brick_record *ring;
	uint64_t mask;
	uint64_t last_end;	/* ticks: where the next command that cannot overlap may begin, */
	uint64_t last_residual; /* and how far off that may be */
};

struct brick__queue_name {
	uint64_t number;
	uint32_t flags;
	char name[64];
	char backend[16];
};

/*
 * A lane of session `serial` for a queue whose next command begins at `begin`: one that an equal
 * queue has left before that, or a new one. -ENOENT: that session is over; BRICK_EFULL.
 */
int brick__queue_lane_open(struct brick__queue_lane *out, const struct brick__queue_name *queue,
	uint32_t serial, uint64_t begin);

/* Leave it, if there is one: free for the next queue while its session lasts, else unmapped. */
void brick__queue_lane_close(struct brick__queue_lane *lane, uint32_t serial);
