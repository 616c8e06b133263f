/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a run less those of an earlier look at the same sessions. Pure. */
#pragma once

#include "trace/run.h"

/*
 * Exact statistics and histograms become those since `base`; the shortest and longest executions
 * are not known then. Losses stay as they are.
 */
void live_subtract(struct run *run, const struct run *base);
