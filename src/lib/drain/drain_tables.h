/* SPDX-License-Identifier: Apache-2.0 */
/* Private, clean copies of a session's append-only tables. Emitting side. */
#pragma once

#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

struct drain_tables {
	struct sink_tables now; /* points to the following */
	struct brick_session_brick bricks[BRICK_MAX_BRICKS];
	struct brick_session_category categories[BRICK_MAX_CATEGORIES];
	struct brick_session_site *sites;
	size_t site_capacity;
	struct brick_session_kernel *kernels;
	size_t kernel_capacity;
};

/* The caller's storage is all zero. */
void drain_tables_init(struct drain_tables *tables);
void drain_tables_fini(struct drain_tables *tables);

/* Bring them up to date and emit what is new. 0, or the sink's error. */
int drain_tables_emit(
	struct drain_tables *tables, struct drain_map *map, struct sink *sink, int process);

/* Emit everything anew, to another sink. */
void drain_tables_rewind(struct drain_tables *tables);
