/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that are over: kept as events of 32 bytes each until they become samples, which is at the
 * end of the graph or before something else is recorded on the thread. Owner thread.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"
#include "brick/probe.h"

/* Turn what has been kept into samples. */
void node_flush_events(struct node_thread *t);

/* A brick without a site, below whatever is open. */
void node_record_span(uint16_t brick, uint64_t begin, uint64_t end);

/* Record the open node at once, for what fits no event. */
void node_record(struct node_thread *t, uint64_t end);

/* The open node is over. */
static inline void node_finish(struct node_thread *t, uint64_t end)
{
	uint64_t length = end - t->begin;

	t->open = 0;
	if (BRICK_UNLIKELY((length | t->wait | t->inner) >> 32 || !t->site)) {
		node_record(t, end);
		return;
	}
	t->events[t->event_count] = (struct brick_timing){t->begin, (uint32_t)length,
		(uint32_t)t->wait, (uint32_t)t->inner, t->site, t->cost};
	if (BRICK_UNLIKELY(++t->event_count >= t->event_capacity))
		node_flush_events(t);
}
