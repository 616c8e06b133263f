/* SPDX-License-Identifier: Apache-2.0 */
/* A session's notes, and below them what its consumer has to say of it. Emitting side. */
#pragma once

#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

struct drain_notes {
	char text[BRICK_NOTES_BYTES + 256]; /* as emitted; ended */
	uint32_t emitted;		    /* bytes of the session's */
};

/* Emit them all; `end` says how the session ended. 0, or the sink's error. */
int drain_notes_emit(struct drain_notes *notes, struct drain_map *map, struct sink *sink,
	int process, const char *end);

/* If there are new ones: so that a recording whose recorder is killed has them. */
int drain_notes_emit_new(
	struct drain_notes *notes, struct drain_map *map, struct sink *sink, int process);

/* Emit everything anew, to another sink. */
void drain_notes_rewind(struct drain_notes *notes);
