/* SPDX-License-Identifier: Apache-2.0 */
/* A message without a peer: neither end knows who the other one is. */
#include "attach/ggml/steps/sent_graph.h"

#include <errno.h>
#include <string.h>
#include "attach/common/object.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum serving { SERVING_UNKNOWN, SERVING_NO, SERVING_YES };

static enum serving sent_graph_find_out(void)
{
	/* a static server may have no symbols to ask for */
	return object_symbol("ggml_backend_rpc_start_server", NULL) ||
			       strstr(program_invocation_short_name, "rpc-server")
		       ? SERVING_YES
		       : SERVING_NO;
}

bool sent_graph_serves(void)
{
	static enum serving known;
	enum serving serving = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (serving == SERVING_UNKNOWN) {
		serving = sent_graph_find_out();
		__atomic_store_n(&known, serving, __ATOMIC_RELAXED);
	}
	return serving == SERVING_YES;
}

bool sent_graph_is_sent(uint32_t brick)
{
	const char *name = brick_name(brick);

	return name && !strncmp(name, "Graph RPC", 9);
}

void sent_graph_tell(const struct engine *engine, const void *graph, enum brick_message_event event)
{
	static uint32_t told[2];

	if (!engine || !engine->layout_known || !engine->graph_node_count || !engine->graph_node ||
		!engine->get_data || !engine->get_name || !brick_enabled())
		return;
	int count = engine->graph_node_count(graph), last = count - 1;
	/* views may be of tensors that are not on the server, and have no data there */
	while (last > 0 && !engine_executes(engine, engine->graph_node(graph, last)))
		last--;
	if (last < 0)
		return;
	const void *result = engine->graph_node(graph, last);
	uint64_t hash = hash_add((uint64_t)count, (uintptr_t)engine->get_data(result));
	hash = hash_add(hash, fnv1a_text(engine->get_name(result)));
	const struct brick_message_record record = {.peer = BRICK_MESSAGE_NO_PEER,
		.event = (uint8_t)event,
		.communicator = (uint32_t)(hash ^ hash >> 32),
		.number = __atomic_add_fetch(
			&told[event == BRICK_MESSAGE_SENT], 1, __ATOMIC_RELAXED)};
	brick_record_messages(&record, 1);
}
