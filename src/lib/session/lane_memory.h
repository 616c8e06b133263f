/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of the session, whoever records there: threads (src/lib/session/lane_thread.h) or queues
 * (src/lib/device/lane_queue.h). */
#pragma once

#include "lib/session/session_map.h"

/* Under the session lock: a new lane at the end of the file; NULL when there is no room for it. */
struct brick_lane *brick__lane_create(struct brick__session *session, enum brick_lane_kind kind);

/* What is mapped of it. */
uint64_t brick__lane_bytes(const struct brick_lane *lane);

/* Give back all lanes of a session that ends; those of live threads stay mapped until they notice.
 */
void brick__lanes_release(struct brick__session *session);

/* In the child of a fork: unmap what is the parent's. */
void brick__lanes_abandon(struct brick__session *session);

/* Enter one length into the histogram that the owner of the lane keeps. */
void brick__lane_histogram(struct brick_lane *lane, uint32_t brick, uint64_t ticks);
