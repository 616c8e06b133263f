/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a session keeps the source of. Emitting side. */
#pragma once

#include "lib/drain/map_session.h"
#include "lib/writer/sink.h"

/* Emit programs that are new; *emitted: bytes of the area that have been. 0, or the sink's error.
 */
int drain_code_emit(uint32_t *emitted, struct drain_map *map, struct sink *sink);
