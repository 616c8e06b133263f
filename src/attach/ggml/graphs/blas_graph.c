/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs node by node (blas_graph.h). A part is a node that does work and the views before it. */
#include "attach/ggml/graphs/blas_graph.h"

#include <string.h>
#include "attach/ggml/graphs/ggml_dataflow.h"
#include "attach/ggml/nodes/digests.h"
#include "attach/ggml/method.h"
#include "attach/ggml/nodes/node_ready.h"
#include "attach/ggml/nodes/node_record.h"
#include "attach/ggml/ggml_notes.h"
#include "attach/ggml/patched.h"
#include "attach/ggml/nodes/site_table.h"
#include "brick/brick.h"

struct blas_graph {
	const struct engine *e;
	words_fn compute;
	word backend, graph;
	uint32_t computed;
};

int blas_graph_is(const void *backend, words_fn compute, const struct engine **engine)
{
	if (!method_records_nodes() || phase_is_muted())
		return 0;
	const struct engine *e = *engine = engine_at(patched_home((uintptr_t)compute));
	if (!e || !e->layout_known || !e->op_desc || !e->backend_name || !e->graph_node ||
		!e->graph_node_count || !e->graph_view)
		return 0;
	const char *name = e->backend_name(backend);
	return name && !strcmp(name, "BLAS");
}

static void digest(const struct blas_graph *g, const void *node, uint32_t site)
{
	struct node_thread *t = &node_thread;
	uintptr_t code = patched_home((uintptr_t)g->compute);

	if (!node_thread_knows(t, code))
		node_thread_prepare(t, code);
	digests_take(t, node, NULL, site);
}

/* Nodes begin to end - 1, of which the last is the one that works. */
static word_pair compute_part(struct blas_graph *g, int begin, int end, const void *node)
{
	struct node_thread *t = &node_thread;
	uint64_t entered = brick__now();
	struct site_found found;

	site_table_find(g->e, node, NULL, 0, -1, &found);
	struct graph_view view = g->e->graph_view((const void *)g->graph, begin, end);
	brick_span span = brick_begin_layer(found.brick, found.layer);
	uint64_t called = brick__now();
	word_pair status = g->compute(g->backend, (word)&view, 0, 0, 0, 0);
	uint64_t returned = brick__now();
	if (found.site)
		brick_end_site(span, found.site);
	else
		brick_end(span);
	node_cost_add(&t->hook_cost, 1, called - entered + (brick__now() - returned));
	if (digests_mode && !(int)status)
		digest(g, node, found.site);
	g->computed++;
	return status;
}

static word_pair compute_parts(struct blas_graph *g, int count)
{
	word_pair status = 0;
	int begin = 0;

	for (int i = 0; i < count && !(int)status; i++) {
		const void *node = g->e->graph_node((const void *)g->graph, i);
		if (engine_operation(g->e, node) == OPERATION_EMPTY)
			continue;
		status = compute_part(g, begin, i + 1, node);
		begin = i + 1;
	}
	return status;
}

word_pair blas_graph_compute(const struct engine *e, words_fn compute, word backend, word graph)
{
	struct blas_graph g = {e, compute, backend, graph, 0};

	dataflow_graph(e, (const void *)graph);
	digests_graph_begin();
	word_pair status = compute_parts(&g, e->graph_node_count((void *)graph));
	digests_graph_end(&node_thread);
	notes_graph(e, (const void *)graph, g.computed, 0);
	node_thread.begun += g.computed;
	return status;
}
