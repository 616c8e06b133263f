/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's areas beside its lanes: tables, sources of programs, notes, digests. Each is copied,
 * checked (wrong entries are corrected, and counted in drain_map.bad_entries), and emitted.
 * Emitting side, except drain_digests_level().
 */
#pragma once

#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

struct drain_tables {
	struct sink_tables now; /* the tables as they were emitted last; points to these arrays */
	struct brick_session_brick bricks[BRICK_MAX_BRICKS];
	struct brick_session_category categories[BRICK_MAX_CATEGORIES];
	struct brick_session_site *sites;
	size_t site_capacity;
	struct brick_session_kernel *kernels;
	size_t kernel_capacity;
};

/* Makes tables in storage that is all zero. */
void drain_tables_init(struct drain_tables *tables);
void drain_tables_fini(struct drain_tables *tables);

/* Copies the tables' new entries and emits them. process: its number in the writer. 0, or the
 * writer's error. */
int drain_tables_emit(struct drain_tables *tables, struct drain_map *map,
	struct trace_writer *writer, int process);

/* Has all entries emitted anew, for another writer. */
void drain_tables_rewind(struct drain_tables *tables);

/*
 * Emits sources of programs that were not emitted yet. *emitted: bytes of the area that were, 0 at
 * first. 0, or the writer's error.
 */
int drain_code_emit(uint32_t *emitted, struct drain_map *map, struct trace_writer *writer);

struct drain_notes {
	char text[BRICK_NOTES_BYTES + 384]; /* as emitted, ended by NUL; 384: lines added here */
	char own[128];			    /* a line of the consumer's; "": none */
	uint32_t emitted;		    /* bytes of the session's notes that were emitted */
};

/* Emits all notes and a line "session.end=" with `end`: how it ended. 0, or the writer's error. */
int drain_notes_emit(struct drain_notes *notes, struct drain_map *map, struct trace_writer *writer,
	int process, const char *end);

/*
 * Emits all notes if there are new ones, so that a recording whose recorder is killed has them. 0,
 * or the writer's error.
 */
int drain_notes_emit_new(
	struct drain_notes *notes, struct drain_map *map, struct trace_writer *writer, int process);

/* Has all notes emitted anew, for another writer. */
void drain_notes_rewind(struct drain_notes *notes);

struct drain_digests {
	uint64_t tail; /* digests ever consumed: digest_tail, which is not trusted */
};

/* Returns how full the ring of digests is, in per cent; at least 1 if any waits. Either side. */
uint32_t drain_digests_level(const struct drain_digests *digests, struct drain_map *map);

/* Emits the digests that wait. tables: up to date, and emitted. 0, or the writer's error. */
int drain_digests_emit(struct drain_digests *digests, struct drain_map *map,
	const struct sink_tables *tables, struct trace_writer *writer, int process);
