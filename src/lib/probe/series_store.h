/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a whole series into the ring of its thread, which has room for it. Owner of the lane. */
#pragma once

#include <stdint.h>
#include "lib/probe/series_run.h"
#include "lib/session/thread.h"

/* The ring's next lines are about to be written. */
void brick__series_store_expect(const struct brick__thread *self);

/* `sites`: of all of the run's timings, and as many more as are read with the last one (3). */
void brick__series_store(
	struct brick__thread *self, const struct brick__series_run *run, const uint16_t *sites);
