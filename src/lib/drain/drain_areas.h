/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session holds beside its lanes: tables, sources of programs, notes, digests. They are
 * copied, put right, and emitted. Emitting side, but for the level of digests.
 */
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

/* Bring them up to date and emit what is new. 0, or the writer's error. */
int drain_tables_emit(struct drain_tables *tables, struct drain_map *map,
	struct trace_writer *writer, int process);

/* Emit everything anew, to another sink. */
void drain_tables_rewind(struct drain_tables *tables);

/* Emit the sources of programs that are new; *emitted: bytes of the area that have been. 0, or the
 * sink's error. */
int drain_code_emit(uint32_t *emitted, struct drain_map *map, struct trace_writer *writer);

struct drain_notes {
	char text[BRICK_NOTES_BYTES + 256]; /* as emitted; ended */
	uint32_t emitted;		    /* bytes of the session's */
};

/* Emit them all; `end` says how the session ended. 0, or the writer's error. */
int drain_notes_emit(struct drain_notes *notes, struct drain_map *map, struct trace_writer *writer,
	int process, const char *end);

/* If there are new ones: so that a recording whose recorder is killed has them. */
int drain_notes_emit_new(
	struct drain_notes *notes, struct drain_map *map, struct trace_writer *writer, int process);

/* Emit everything anew, to another sink. */
void drain_notes_rewind(struct drain_notes *notes);

struct drain_digests {
	uint64_t tail;
};

/* Digests that wait, in per cent of the ring, at least 1 if there is any; either side. */
uint32_t drain_digests_level(const struct drain_digests *digests, struct drain_map *map);

/* Emit those that wait. tables: up to date, and emitted. 0, or the writer's error. */
int drain_digests_emit(struct drain_digests *digests, struct drain_map *map,
	const struct sink_tables *tables, struct trace_writer *writer, int process);
