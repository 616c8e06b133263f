/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's lanes in the sink. A lane there is in begin order and nests, as those of threads are
 * in the session. Commands of an out-of-order queue overlap: each goes to the first of the queue's
 * lanes in the sink on which nothing runs any more when it begins; where there is none, one more
 * joins. The first one has the statistics and the ledger of all. Emitting side.
 */
#pragma once

#include <stddef.h>
#include "lib/writer/sink.h"

struct drain;
struct drain_lane;

/* The lane as it stands now, in memory of the session's; without statistics if they are not asked
 * for. */
struct brick_lane *drain_lane_state(struct drain *d, const struct drain_lane *lane, int with_stats);

/* The lane is in the sink from now on. 0, -ENOMEM, or the sink's error. */
int drain_lane_join(struct drain *d, struct sink *sink, struct drain_lane *lane);

/* Records of a lane that is there, in ring order. 0 or a negative code. */
int drain_lane_records(struct drain *d, struct sink *sink, struct drain_lane *lane,
	const struct brick_record *records, size_t count);

/* Its statistics, which drain_lane_state() gave. */
int drain_lane_statistics(
	struct sink *sink, const struct drain_lane *lane, struct brick_lane *state);
