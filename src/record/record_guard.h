/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surviving the SIGBUS of files that shrink while they are mapped: a page that is gone is replaced
 * by an empty one, and the owner of the mapping is told. For the recorder's process only, never for
 * the library. Install it once; add and remove from any thread.
 */
#pragma once

#include "lib/drain/drain.h"

/* 0 or -errno. */
int guard_install(void);

extern const struct drain_guard guard_mappings;
