/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that ggml's RPC backend sends to another process. The data of a tensor on a server lies at
 * the same address in both processes, as the client is told it, so both know the graph by that.
 * Any thread.
 */
#pragma once

#include "attach/ggml/engine/ggml_engine.h"
#include "brick/recorded.h"

/* True: this process may compute graphs that others send. */
bool sent_graph_serves(void);

/* True: the brick around a backend's computing is that of an RPC backend, which sends the graph. */
bool sent_graph_is_sent(uint32_t brick);

/* Tells of a graph, right behind the brick in which it was sent (SENT) or computed (RECEIVED). */
void sent_graph_tell(
	const struct engine *engine, const void *graph, enum brick_message_event event);
