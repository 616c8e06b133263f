/* SPDX-License-Identifier: Apache-2.0 */
/* Records that stand for several, written out for sinks. Emitting side. */
#pragma once

#include <stddef.h>
#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

/*
 * Write what the lane's next records stand for into `out`, which holds `capacity` (at least 6),
 * with bricks and layers from the tables; returns how many. *used: of the records, as many as there
 * was room for.
 */
size_t drain_expand(const struct sink_tables *tables, struct drain_lane *lane,
	const struct brick_record *records, size_t count, struct brick_record *out, size_t capacity,
	size_t *used);
