/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One time for recordings of clients and servers, by the graphs that one computed for the other: no
 * graph is computed before it was sent, and no wait for its result ends before. Both count the
 * graphs in the same order, so that their clocks need not be known to pair them. Pure; any thread.
 */
#pragma once

#include "analysis/ranks/remote_calls.h"

/*
 * Aligns the clocks of recordings to the first one's; those that have no line, or more than one by
 * the order of graphs, are not aligned. 0 or -ENOMEM.
 */
int remote_clocks_align(struct remote_source *sources, uint32_t count);
