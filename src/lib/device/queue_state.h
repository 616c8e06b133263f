/* SPDX-License-Identifier: Apache-2.0 */
/* A queue, for the files that record into it. Everything in it is under its lock. */
#pragma once

#include <pthread.h>
#include "lib/device/lane_queue.h"
#include "lib/device/queue_lane.h"

struct brick_queue {
	struct brick_queue *next, **link; /* under the lock of the list */
	pthread_mutex_t lock;
	struct brick__queue_name name;
	uint32_t serial;	     /* of the session that the lane belongs to */
	uint64_t pending;	     /* commands on the way, where somebody counts them */
	uint32_t pending_serial;     /* of the session that they belong to */
	struct brick__queue_lane to; /* its lane is NULL while it has none */
};

/* Have a lane in session `serial`. -ENOENT, BRICK_EFULL as brick__queue_lane_open(). */
int brick__queue_lane_use(struct brick_queue *queue, uint32_t serial, uint64_t begin);
