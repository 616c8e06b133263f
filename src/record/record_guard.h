/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surviving the SIGBUS of files that shrink while they are mapped: a page of zeros replaces the
 * lost page, and the mapping's `fault` becomes 1. For the recorder's process only, never for the
 * library. guard_install() comes once, before the first mapping; adding and removing: any thread.
 */
#pragma once

#include "lib/drain/drain.h"

/* Installs the handler of SIGBUS. 0 or -errno. */
int guard_install(void);

extern const struct drain_guard guard_mappings;
