/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches by their graphs (sent_batch.h). Graphs do not tell sequences: tokens at consecutive
 * positions count as one sequence. If a client has some nodes computed elsewhere, it sends the
 * nodes between them as graphs of their own; a new batch begins when the layers start again.
 */
#include "attach/ggml/steps/sent_batch.h"

#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/phases.h"
#include "base/thread.h"

enum {
	MAX_TOKENS = 1 << 20, /* a greater number is no batch */
	READ_TOKENS = 4096,   /* most positions that are read */
	UNFINISHED = 8,	      /* prompts that are remembered */
	UNKNOWN = -1,
};

struct sent_graph {
	const struct engine *e;
	const void *graph;
	const void *positions, *outputs; /* tensors inp_pos and out_ids; NULL: none */
	int32_t tokens;			 /* or UNKNOWN */
	int32_t wanted;			 /* tokens whose logits are wanted, or UNKNOWN */
	int32_t first_layer, last_layer; /* of its weights; UNKNOWN: none has a layer */
	bool has_cache;			 /* it reads a tensor of the KV cache */
	const char *name;		 /* of its first node */
};

/* The thread's last batch; on the heap, as static TLS of preloaded libraries is short. */
struct sent {
	char name[TENSOR_NAME_BYTES]; /* of the first node of its first graph; "": there was none */
	int32_t layer, tokens;
	bool is_whole; /* no part of it follows */
	/* 1 + position at which an unfinished prompt goes on: no logits were wanted of it; 0: none
	 */
	int64_t unfinished[UNFINISHED];
	uint32_t next; /* place in `unfinished` that is overwritten next */
};
static __thread struct sent *sent __attribute__((tls_model("initial-exec")));
static struct thread_exit sent_batch_exit_of_thread;

static void sent_batch_thread_exits(void *own)
{
	sent = NULL;
	free(own);
}

__attribute__((constructor)) static void sent_batch_watch_threads(void)
{
	thread_exit_create(&sent_batch_exit_of_thread, sent_batch_thread_exits);
}

static const char *sent_batch_name_of(const struct engine *e, const void *tensor)
{
	return tensor_field(tensor, e->layout.name);
}

/* The number behind "blk."; UNKNOWN: the name has none. */
static int32_t sent_batch_layer_of(const char *name)
{
	int32_t layer = 0;

	if (strncmp(name, "blk.", 4) || name[4] < '0' || name[4] > '9')
		return UNKNOWN;
	for (const char *digit = name + 4; *digit >= '0' && *digit <= '9' && layer < 10000; digit++)
		layer = layer * 10 + (*digit - '0');
	return layer;
}

static int32_t sent_batch_small(int64_t n)
{
	return n >= 0 && n <= MAX_TOKENS ? (int32_t)n : UNKNOWN;
}

/* Fill *g from the graph's nodes and the leaves that they read. */
static void look_through(struct sent_graph *g)
{
	const struct engine *e = g->e;

	for (int i = 0, count = e->graph_node_count(g->graph); i < count; i++) {
		const void *node = e->graph_node(g->graph, i);
		g->name = g->name ? g->name : sent_batch_name_of(e, node);
		if (g->tokens == UNKNOWN && operation_is_norm(e->op_desc(node)))
			g->tokens = sent_batch_small(tensor_ne(&e->layout, node)[1]);
		for (uint32_t s = 0; s < TENSOR_OPERANDS; s++) {
			const void *source = tensor_source(&e->layout, node, s);
			if (!source || !tensor_is_leaf(&e->layout, source))
				continue;
			/* a scheduler's copy of an input is called "BACKEND#inp_pos#0" */
			const char *name = sent_batch_name_of(e, source);
			int32_t layer = sent_batch_layer_of(name);
			if (layer != UNKNOWN) {
				g->first_layer = g->first_layer == UNKNOWN ? layer : g->first_layer;
				g->last_layer = layer;
			} else if (!g->positions && strstr(name, "inp_pos")) {
				g->positions = source;
			} else if (!g->outputs && strstr(name, "out_ids")) {
				g->outputs = source;
			} else {
				g->has_cache |= !strncmp(name, "cache_", 6);
			}
		}
	}
	if (g->outputs)
		g->wanted = sent_batch_small(tensor_ne(&e->layout, g->outputs)[0]);
}

/* The tensor's numbers, at least `wanted`; NULL: they cannot be read. */
static const int32_t *sent_batch_numbers_of(
	const struct engine *e, const void *tensor, int32_t wanted)
{
	if (!tensor || !e->get_data || !e->byte_count || wanted < 0 || wanted > READ_TOKENS ||
		tensor_int32(tensor, e->layout.type) != TENSOR_TYPE_I32 ||
		tensor_ne(&e->layout, tensor)[0] < wanted ||
		e->byte_count(tensor) < (size_t)wanted * sizeof(int32_t))
		return NULL;
	return e->get_data(tensor);
}

static bool was_unfinished(int64_t position)
{
	for (int i = 0; i < UNFINISHED && position != UNKNOWN; i++)
		if (sent->unfinished[i] == position + 1) {
			sent->unfinished[i] = 0;
			return true;
		}
	return false;
}

/* Tokens begin to end - 1 of a batch, at positions that follow each other. */
struct sequence_run {
	int32_t begin, end, first; /* first: position */
	int32_t wanted;		   /* logits; UNKNOWN */
	bool is_alone;		   /* nothing else is in the batch */
	bool has_twin;		   /* another sequence has a token at its first position */
};

/* As batch_count() has it, but all that is known of the sequence is where prompts go on. */
static bool sent_batch_is_prompt(const struct sequence_run *run)
{
	int32_t tokens = run->end - run->begin;

	if ((tokens > 1 || !run->has_twin) && was_unfinished(run->first))
		return true;
	if (run->wanted == UNKNOWN)
		return tokens > 1;
	if (!batch_is_output((uint32_t)tokens, (uint32_t)run->wanted, run->first))
		return true;
	/* a benchmark's first token is alone */
	return tokens == 1 ? !run->first && !run->is_alone : tokens > BATCH_MOST_CHECKED;
}

static void add_run(struct phase_tokens *t, const struct sequence_run *run)
{
	uint32_t tokens = (uint32_t)(run->end - run->begin);

	if (!sent_batch_is_prompt(run)) {
		t->output += tokens;
		return;
	}
	t->prompt += tokens;
	if (!run->wanted && run->first != UNKNOWN)
		sent->unfinished[sent->next++ % UNFINISHED] = (int64_t)run->first + tokens + 1;
}

static void sent_batch_count(struct phase_tokens *t, const struct sent_graph *g, bool is_readable)
{
	const int32_t *positions = NULL, *ids = NULL; /* ids: whose logits are wanted */

	if (is_readable) {
		positions = sent_batch_numbers_of(g->e, g->positions, g->tokens);
		ids = sent_batch_numbers_of(g->e, g->outputs, g->wanted);
	}
	/* All below goes by their order, and by each being there once. */
	for (int32_t i = 0; ids && i < g->wanted; i++)
		if (ids[i] <= (i ? ids[i - 1] : UNKNOWN) || ids[i] >= g->tokens)
			ids = NULL;
	if (!positions || (g->wanted != UNKNOWN && !ids)) {
		add_run(t, &(struct sequence_run){.end = g->tokens,
				   .first = UNKNOWN,
				   .wanted = g->wanted,
				   .is_alone = true});
		return;
	}
	const int32_t *ids_end = ids ? ids + g->wanted : NULL;
	for (struct sequence_run run = {0}; run.begin < g->tokens; run.begin = run.end) {
		run.first = positions[run.begin];
		run.end = run.begin + 1;
		while (run.end < g->tokens &&
			positions[run.end] == (int64_t)positions[run.end - 1] + 1)
			run.end++;
		run.is_alone = g->tokens == 1;
		run.has_twin = false;
		for (int32_t i = 0; i < g->tokens && !run.has_twin; i++)
			run.has_twin = i != run.begin && positions[i] == run.first;
		run.wanted = ids ? 0 : UNKNOWN;
		while (ids && ids + run.wanted < ids_end && ids[run.wanted] < run.end)
			run.wanted++;
		/* Of a prompt only the last token's logits are wanted: what follows is another
		 * sequence's. */
		if (run.wanted > 0 && run.wanted != run.end - run.begin) {
			run.wanted = 1;
			run.end = ids[0] + 1;
		}
		if (ids)
			ids += run.wanted;
		add_run(t, &run);
	}
}

enum sent_batch sent_batch_read(
	const struct engine *e, const void *graph, bool is_readable, struct phase_tokens *t)
{
	struct sent_graph g = {.e = e,
		.graph = graph,
		.tokens = UNKNOWN,
		.wanted = UNKNOWN,
		.first_layer = UNKNOWN};

	*t = (struct phase_tokens){.number = -1, .drafter = -1, .switched = -1};
	if (!e || !e->layout_known || !e->graph_node_count || !e->graph_node || !e->op_desc)
		return SENT_UNKNOWN;
	if (!sent && !(sent = thread_exit_allocate(&sent_batch_exit_of_thread, sizeof(*sent))))
		return SENT_UNKNOWN;
	look_through(&g);
	if (g.first_layer == UNKNOWN && g.has_cache && sent->name[0])
		return SENT_PART; /* what the cache holds is moved to other positions */
	if (g.first_layer == UNKNOWN || g.tokens < 1)
		return SENT_UNKNOWN;
	/* Rows are picked by out_ids in the last layer, behind all that is computed for each token.
	 */
	bool part = sent->name[0] && !sent->is_whole &&
		    (g.tokens == sent->tokens || g.tokens == g.wanted) &&
		    g.first_layer >= sent->layer && strncmp(g.name, sent->name, sizeof(sent->name));
	sent->layer = g.last_layer;
	sent->tokens = g.tokens;
	sent->is_whole = g.outputs != NULL;
	if (part)
		return SENT_PART;
	memcpy(sent->name, g.name, sizeof(sent->name));
	sent_batch_count(t, &g, is_readable);
	return SENT_BATCH;
}
