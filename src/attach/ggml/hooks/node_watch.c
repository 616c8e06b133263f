/* SPDX-License-Identifier: Apache-2.0 */
/* Watchers (node_watch.h). A node's NVTX range ends at its barrier, or where the next node begins.
 */
#include "attach/ggml/hooks/node_watch.h"

#include <stdbool.h>
#include <stdio.h>
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/nodes/digests.h"
#include "attach/ggml/hooks/expert_ids.h"
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/steps/training.h"
#include "lib/probe/emit.h"
#include "lib/session/session_lanes.h"
#include "lib/sys/environment.h"

uint32_t nodes_watched;
static __thread bool is_emitted;

ENVIRONMENT_READER(node_watch_read_environment)
{
	nodes_watched = capture_wants("digest") || capture_wants("digest-all") ||
			capture_wants("experts") || brick__emits();
}

void node_watch_training(void)
{
	__atomic_store_n(&nodes_watched, 1, __ATOMIC_RELAXED);
}

void node_watch_end(void)
{
	if (is_emitted)
		brick__emit_pop();
	is_emitted = false;
}

void node_watch_begin(struct node_thread *t, const struct compute_params *params, const void *node,
	const void *mul)
{
	training_node(node, false);
	if (digests_mode)
		digests_node_begin(t, params, node, mul);
	if (experts_wanted && !params->ith)
		experts_node_begin(t, node);
	if (!brick__emits())
		return;
	node_watch_end();
	if (!t->engine)
		return;
	struct node_text text;
	char range[128];
	node_text_read(&text, t->engine, node, mul);
	snprintf(range, sizeof(range), "%s (%s)", text.self.name, text.self.operation);
	is_emitted = brick__emit_push(range);
}

void node_watch_barrier(void *pool)
{
	node_watch_end();
	if (digests_mode)
		digests_barrier(pool);
}
