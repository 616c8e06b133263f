/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites that are executed one after the other again and again, as the nodes of a graph are. They
 * are known beforehand, so that recording them takes a fraction of what timings take
 * (brick/attach.h). Creating and freeing: any thread; recording: one thread at a time, and
 * nobody may record one that is freed.
 */
#pragma once

#include "lib/probe/series_run.h"

struct brick__series;

/* NULL: no memory, or one of them is not registered. */
BRICK_API struct brick__series *brick__series_create(const uint32_t *sites, uint32_t count);
BRICK_API void brick__series_free(struct brick__series *series);

/* Record them, as brick_record_timings_work() would. Returns how long they took together. */
BRICK_API uint64_t brick__series_record(
	struct brick__series *series, const struct brick__series_run *run);
