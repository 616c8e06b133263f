/* SPDX-License-Identifier: Apache-2.0 */
/* Making lanes, for threads (lib/lane.c) and queues (lib/lane_queue.c). */
#ifndef BRICK_LIB_LANE_H
#define BRICK_LIB_LANE_H

#include "lib/core.h"

/* Under the session lock: a new lane at the end of the file, NULL when there is no room for it. */
struct brick_lane *brick__lane_create(struct brick__session *session, enum brick_lane_kind kind);

/* What is mapped of it. */
uint64_t brick__lane_bytes(const struct brick_lane *lane);

#endif
