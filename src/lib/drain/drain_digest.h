/* SPDX-License-Identifier: Apache-2.0 */
/* The session's ring of digests. Emitting side, but for the level. */
#pragma once

#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

struct drain_digests {
	uint64_t tail;
};

/* In per cent of the ring, at least 1 if there is any; either side. */
uint32_t drain_digests_level(const struct drain_digests *digests, struct drain_map *map);

/* Emit those that wait. tables: up to date, and emitted. 0, or the sink's error. */
int drain_digests_emit(struct drain_digests *digests, struct drain_map *map,
	const struct sink_tables *tables, struct sink *sink, int process);
