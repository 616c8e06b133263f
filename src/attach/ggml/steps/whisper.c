/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whisper.cpp's graphs and steps (whisper.h). A graph is told by its first nodes. Between two norms
 * lies a segment: attention to itself, to what was encoded, or the feed-forward network, in this
 * order in each block. The graph has attention's products with weights in varying orders, so they
 * are told by where the model lists their weights (query, key, value, out). What only passes a
 * tensor on gets its source's name. A graph of another shape than expected is left as it is.
 *
 * A decoder's graph is given a prompt, or one token for each of up to eight candidates; the graph
 * does not say which. What follows the encoder is a prompt, and so are more tokens than eight, or
 * than there were candidates in the step before, as these only get fewer.
 */
#include "attach/ggml/steps/whisper.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/nodes/node_thread.h"
#include "attach/ggml/steps/phases.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/brick.h"

enum whisper_part {
	WHISPER_NONE, /* none of them */
	WHISPER_CONV,
	WHISPER_ENCODER,
	WHISPER_CROSS, /* keys and values of the decoder's attention to what was encoded */
	WHISPER_DECODER,
	WHISPER_PARTS,
};

enum { HEAD_NODES = 16, MAX_PRODUCTS = 64, ROLE_BYTES = 32 };

/* Rules know these names (src/attach/rules/ggml-llama.rules). */
struct segment_kind {
	const char *norm;
	const char *products[4]; /* as the model lists them; NULL: fewer */
	const char *attention;	 /* NULL: none */
};

static const struct segment_kind self_attention = {
	"attn_ln", {"attn.query", "attn.key", "attn.value", "attn.out"}, "attn"};
static const struct segment_kind cross_attention = {
	"cross_attn_ln", {"cross_attn.query", "cross_attn.out"}, "cross_attn"};
static const struct segment_kind feed_forward = {"mlp_ln", {"mlp.0", "mlp.2"}, NULL};

struct reader {
	const struct engine *e;
	const void *const *nodes;
	int count;
	char prefix[24];  /* of names in this segment */
	bool has_softmax; /* it was seen in this segment */
	const struct segment_kind *kind;
};

static bool whisper_is(const struct reader *r, const void *tensor, const char *operation)
{
	return tensor && !strcmp(r->e->op_desc(tensor), operation);
}

static const void *whisper_source(const struct reader *r, const void *node, uint32_t i)
{
	return tensor_source(&r->e->layout, node, i);
}

static bool whisper_is_weight_product(const struct reader *r, const void *node)
{
	const void *weight = whisper_source(r, node, 0), *with = whisper_source(r, node, 1);

	/* as wide as what it is multiplied with: masks of single heads are not */
	return whisper_is(r, node, "MUL_MAT") && weight && tensor_is_leaf(&r->e->layout, weight) &&
	       tensor_ne(&r->e->layout, weight)[0] == tensor_ne(&r->e->layout, with)[0] &&
	       tensor_ne(&r->e->layout, weight)[1] > 1;
}

static void whisper_give(
	const struct reader *r, const void *tensor, const char *name, const char *suffix)
{
	char text[GIVEN_NAME_BYTES];

	snprintf(text, sizeof(text), "%s%s%s", r->prefix, name, suffix);
	given_name_set(tensor, r->e->get_name(tensor), text);
}

/* The part of a tensor's given name behind the prefix; 0: it has none of this segment. */
static bool role_of(const struct reader *r, const void *tensor, char *role)
{
	size_t n = strlen(r->prefix);

	HOLD(&given_names_mutex);
	const char *given = tensor ? given_name_of(tensor, r->e->get_name(tensor)) : NULL;
	int found = given && !strncmp(given, r->prefix, n);
	if (found)
		snprintf(role, ROLE_BYTES, "%.*s", ROLE_BYTES - 1, given + n);
	return found;
}

/* Products with weights in a range of nodes, ordered by where the weights are listed. */
static int collect_products(
	const struct reader *r, int begin, int end, const void **products, int by_weight)
{
	int n = 0;

	for (int i = begin; i < end && n < MAX_PRODUCTS; i++) {
		int at = n;
		if (!whisper_is_weight_product(r, r->nodes[i]))
			continue;
		for (; by_weight && at &&
			whisper_source(r, products[at - 1], 0) > whisper_source(r, r->nodes[i], 0);
			at--)
			products[at] = products[at - 1];
		products[at] = r->nodes[i];
		n++;
	}
	return n;
}

static void name_product(const struct reader *r, const void *product, const char *role)
{
	whisper_give(r, product, role, "");
	whisper_give(r, whisper_source(r, product, 0), role, ".weight");
}

static void name_products(const struct reader *r, int begin, int end)
{
	const void *products[MAX_PRODUCTS];
	int n = collect_products(r, begin, end, products, r->kind->attention != NULL), wanted = 0;

	while (wanted < 4 && r->kind->products[wanted])
		wanted++;
	for (int i = 0; i < n && n == wanted; i++)
		name_product(r, products[i], r->kind->products[i]);
}

/* "node" where the tensor has no role in this segment. */
static void role_or_node(const struct reader *r, const void *tensor, char *role)
{
	if (!role_of(r, tensor, role))
		snprintf(role, ROLE_BYTES, "node");
}

static void name_node(struct reader *r, const void *node)
{
	const void *a = whisper_source(r, node, 0), *b = whisper_source(r, node, 1);
	bool is_sum = whisper_is(r, node, "ADD"), is_product = whisper_is(r, node, "MUL_MAT");
	bool is_softmax = whisper_is(r, node, "SOFT_MAX");
	char role[ROLE_BYTES];

	if (whisper_is_weight_product(r, node))
		return; /* name_products() has */
	if (whisper_is(r, node, "NORM")) {
		whisper_give(r, node, r->kind->norm, "");
	} else if (is_sum || whisper_is(r, node, "MUL")) {
		if (!b || !tensor_is_leaf(&r->e->layout, b)) {
			whisper_give(r, node, is_sum ? "residual" : "node", "");
			return;
		}
		/* with a vector of the model: it belongs to what it is applied to */
		role_or_node(r, a, role);
		whisper_give(r, b, role, is_sum ? ".bias" : ".weight");
		whisper_give(r, node, role, "");
	} else if (is_product || is_softmax || whisper_is(r, node, "FLASH_ATTN_EXT")) {
		const char *step = is_product	? (r->has_softmax ? ".kqv" : ".kq")
				   : is_softmax ? ".softmax"
						: ".flash";
		r->has_softmax |= is_softmax;
		snprintf(role, sizeof(role), "%s%s",
			r->kind->attention ? r->kind->attention : "node", step);
		whisper_give(r, node, role, "");
	} else if (!whisper_is(r, a, "NONE")) { /* NONE: a mask, for all blocks */
		/* copied into a cache, which is there all the time, or passed on in another form */
		bool is_cache = whisper_is(r, node, "CPY") && whisper_is(r, b, "VIEW");
		role_or_node(r, a, role);
		whisper_give(r, node, role, is_cache ? ".cache" : "");
	}
}

/* The nodes of a segment, from `begin` on; its kind and prefix are set. */
static void name_segment(struct reader *r, int begin, int end)
{
	name_products(r, begin, end);
	for (int i = begin; i < end; i++)
		name_node(r, r->nodes[i]);
}

static int next_norm(const struct reader *r, int i)
{
	while (i < r->count && !whisper_is(r, r->nodes[i], "NORM"))
		i++;
	return i;
}

static void name_blocks(struct reader *r, const char *side, int in_block)
{
	static const struct segment_kind last = {"ln", {"token_embedding"}, NULL};
	int norms = 0, begin = next_norm(r, 0);

	for (int i = begin; i < r->count; i = next_norm(r, i + 1))
		norms++;
	if (norms < 1 + in_block || (norms - 1) % in_block)
		return; /* another model than we know */
	snprintf(r->prefix, sizeof(r->prefix), "%s.", side);
	for (int i = 0; i < begin; i++) { /* what precedes the first block */
		const void *node = r->nodes[i], *table = whisper_source(r, node, 0);
		if (whisper_is(r, node, "GET_ROWS")) { /* of tokens, or of places */
			const char *of = r->e->get_name(whisper_source(r, node, 1));
			whisper_give(r, table,
				strcmp(of, "position") ? "token_embedding.weight"
						       : "positional_embedding",
				"");
		} else if (whisper_is(r, node, "ADD")) {
			whisper_give(r, node, "positional_embedding", ".sum");
		}
	}
	for (int s = 0; s < norms - 1; s++) {
		int end = next_norm(r, begin + 1), part = s % in_block;
		r->kind = part == in_block - 1 ? &feed_forward
			  : part	       ? &cross_attention
					       : &self_attention;
		r->has_softmax = false;
		snprintf(r->prefix, sizeof(r->prefix), "%s.blocks.%d.", side, s / in_block);
		name_segment(r, begin, end);
		begin = end;
	}
	/* the last norm, and the vocabulary's product behind it */
	r->kind = &last;
	snprintf(r->prefix, sizeof(r->prefix), "%s.", side);
	name_segment(r, begin, r->count);
}

/* Two products in each block, listed block by block. */
static void name_cross(struct reader *r)
{
	static const struct segment_kind cross = {"", {NULL}, "cross_attn"};
	const void *products[MAX_PRODUCTS];
	int n = collect_products(r, 0, r->count, products, 1);

	if (n % 2 || n == MAX_PRODUCTS)
		return;
	r->kind = &cross;
	for (int i = 0; i < n; i++) {
		snprintf(r->prefix, sizeof(r->prefix), "decoder.blocks.%d.", i / 2);
		name_product(r, products[i], i % 2 ? "cross_attn.value" : "cross_attn.key");
	}
	for (int layer = 0; layer < n / 2; layer++) {
		snprintf(r->prefix, sizeof(r->prefix), "decoder.blocks.%d.", layer);
		for (int i = 0; i < r->count; i++) {
			char role[ROLE_BYTES];
			if (role_of(r, whisper_source(r, r->nodes[i], 0), role))
				name_node(r, r->nodes[i]);
		}
	}
}

/* How many of the first nodes are of an operation. */
static int head_has(const struct reader *r, const char *operation)
{
	int n = 0;

	for (int i = 0; i < r->count && i < HEAD_NODES; i++)
		n += whisper_is(r, r->nodes[i], operation);
	return n;
}

static enum whisper_part whisper_part_of(const struct reader *r)
{
	if (head_has(r, "IM2COL"))
		return WHISPER_CONV;
	if (head_has(r, "GET_ROWS") == 2)
		return WHISPER_DECODER;
	if (head_has(r, "NORM"))
		return WHISPER_ENCODER;
	return head_has(r, "CPY") ? WHISPER_CROSS : WHISPER_NONE;
}

static int32_t whisper_tokens_of(const struct reader *r, enum whisper_part part)
{
	if (part == WHISPER_CONV) /* a row for each feature */
		return (int32_t)tensor_ne(&r->e->layout, r->nodes[r->count - 1])[0];
	for (int i = 0; part == WHISPER_DECODER && i < r->count; i++)
		if (whisper_is(r, r->nodes[i], "GET_ROWS"))
			return (int32_t)tensor_ne(&r->e->layout, r->nodes[i])[1];
	return 0;
}

/* Does nothing where the tensors are the same as the last time: they have their names. */
static void name_all(struct reader *r, enum whisper_part part)
{
	static uint64_t last[WHISPER_PARTS];
	uint64_t hash = (uint64_t)r->count;

	for (int i = 0; i < r->count; i++) {
		const void *node = r->nodes[i];
		uint64_t name[2];
		memcpy(name, tensor_field(node, r->e->layout.name), sizeof(name));
		hash = hash_add(hash, (uint64_t)(uintptr_t)node);
		hash = hash_add(hash, (uint64_t)(uintptr_t)whisper_source(r, node, 0));
		hash = hash_add(hash, (uint32_t)tensor_int32(node, r->e->layout.op));
		hash = hash_add(hash_add(hash, name[0]), name[1]);
	}
	if (__atomic_exchange_n(&last[part], hash, __ATOMIC_RELAXED) == hash)
		return;
	if (part == WHISPER_CONV) {
		snprintf(r->prefix, sizeof(r->prefix), "encoder.");
		for (int i = 0; i < r->count; i++)
			whisper_give(r, r->nodes[i], "conv", "");
	} else if (part == WHISPER_CROSS) {
		name_cross(r);
	} else if (part == WHISPER_ENCODER) {
		name_blocks(r, "encoder", 2);
	} else if (part == WHISPER_DECODER) {
		name_blocks(r, "decoder", 3);
	}
}

/* 0: this engine does not show its graphs. */
static bool open_graph(struct reader *r, const struct engine *e, const void *graph)
{
	*r = (struct reader){.e = e};
	if (!e || !e->layout_known || !e->graph_nodes || !e->graph_node_count || !e->op_desc ||
		!e->get_name)
		return false;
	r->count = e->graph_node_count(graph);
	r->nodes = e->graph_nodes(graph);
	return r->count > 0 && r->nodes;
}

enum { MAX_CANDIDATES = 8, FRESH = 8, CALLERS = 8 };

/*
 * On each thread that has graphs of whisper.cpp: the graph that got its memory last, and the step
 * that it is in. On the heap, as static TLS of preloaded libraries is short.
 */
static __thread struct whisper_turn {
	const void *graph;
	enum whisper_part part;
	struct phase_scope step;
	bool is_open;
	int32_t candidates; /* in the step before; 0: it was no decoder's */
} * whisper_turn __attribute__((tls_model("initial-exec")));
static struct thread_exit whisper_exit_of_thread;

static void whisper_thread_exits(void *own)
{
	whisper_turn = NULL;
	free(own);
}

__attribute__((constructor)) static void whisper_watch_threads(void)
{
	thread_exit_create(&whisper_exit_of_thread, whisper_thread_exits);
}

/* Schedulers that have not allocated anything yet; overwritten in turn. */
static const void *fresh[FRESH];
static uint32_t fresh_next;

void whisper_scheduler_made(const void *scheduler)
{
	uint32_t at = __atomic_fetch_add(&fresh_next, 1, __ATOMIC_RELAXED) % FRESH;

	__atomic_store_n(&fresh[at], scheduler, __ATOMIC_RELAXED);
}

static bool was_fresh(const void *scheduler)
{
	for (int i = 0; i < FRESH; i++) {
		const void *known = scheduler;
		if (__atomic_compare_exchange_n(
			    &fresh[i], &known, NULL, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* Where graphs get their memory is a handful of places in a program. */
static bool is_whisper(const void *caller)
{
	static struct {
		const void *caller;
		uint32_t generation;
		bool is_whisper;
	} known[CALLERS];
	static uint32_t next;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint32_t generation = shared_get(&attach_shared.resolve_generation);
	int is = -1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < CALLERS && is < 0; i++)
		if (known[i].caller == caller && known[i].generation == generation)
			is = known[i].is_whisper;
	pthread_mutex_unlock(&lock);
	if (is >= 0)
		return is;
	struct loaded_object object; /* it has the library's own function: of its own object */
	is = resolve_object((uintptr_t)caller, &object) &&
	     (uintptr_t)resolve_from(&object, "whisper_init_state", 0) - object.low < object.bytes;
	pthread_mutex_lock(&lock);
	known[next++ % CALLERS] = (typeof(known[0])){caller, generation, is};
	pthread_mutex_unlock(&lock);
	return is;
}

static void whisper_begin_step(
	const struct phase_tokens *tokens, const void *code, const void *frame)
{
	/* just above whatever else this caller is going to begin */
	step_begin(&whisper_turn->step, tokens, "graphs of whisper.cpp", code,
		(const char *)frame + 1);
	whisper_turn->is_open = true;
}

static void whisper_end_step(void)
{
	if (whisper_turn->is_open)
		step_end(&whisper_turn->step, &(struct phase_tokens){0}, 0);
	whisper_turn->is_open = false;
}

/* A step has up to three graphs: recording is switched before the first one. */
void whisper_alloc_begin(const void *scheduler, const void *graph, const void *caller,
	uintptr_t engine_code, const void *frame)
{
	struct reader r;

	if (whisper_turn)
		whisper_turn->graph = NULL;
	if (!is_whisper(caller))
		return;
	if (!whisper_turn && !(whisper_turn = thread_exit_allocate(
				       &whisper_exit_of_thread, sizeof(*whisper_turn))))
		return;
	whisper_turn->part =
		open_graph(&r, engine_at(engine_code), graph) ? whisper_part_of(&r) : WHISPER_NONE;
	if (!whisper_turn->part || was_fresh(scheduler))
		return;
	if (whisper_turn->part == WHISPER_CONV || whisper_turn->part == WHISPER_DECODER) {
		whisper_end_step();
		step_switch(true);
	}
	if (!brick_enabled()) {
		whisper_end_step();
		return;
	}
	int32_t tokens = whisper_tokens_of(&r, whisper_turn->part);
	whisper_turn->graph = graph;
	if (whisper_turn->part == WHISPER_DECODER) {
		int32_t before = whisper_turn->candidates;
		bool is_prompt = !before || tokens > MAX_CANDIDATES || tokens > before;
		whisper_begin_step(
			&(struct phase_tokens){.prompt = is_prompt ? (uint32_t)tokens : 0,
				.output = is_prompt ? 0 : (uint32_t)tokens},
			caller, frame);
		whisper_turn->candidates = is_prompt ? MAX_CANDIDATES : tokens;
	} else if (whisper_turn->part == WHISPER_CONV) {
		whisper_begin_step(
			&(struct phase_tokens){.prompt = (uint32_t)tokens}, caller, frame);
		whisper_turn->candidates = 0;
	}
	/* Naming is Brick's own time. It lies within the step, as all that follows a step counts
	 * to it. */
	uint64_t begin = brick__now();
	name_all(&r, whisper_turn->part);
	node_record_span(phase_brick(PHASE_LOOKUP), begin, brick__now());
}

static uint16_t whisper_bricks[WHISPER_PARTS];

static void whisper_register_bricks(void)
{
	static const char *const names[WHISPER_PARTS] = {
		NULL, "ConvGraph", "EncoderGraph", "CrossGraph", "DecoderGraph"};

	phase_graph_bricks(whisper_bricks, names, WHISPER_PARTS);
}

uint16_t whisper_graph_brick(const void *graph)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!whisper_turn || !whisper_turn->graph || whisper_turn->graph != graph)
		return phase_brick(PHASE_GRAPH_COMPUTE);
	pthread_once(&once, whisper_register_bricks);
	return whisper_bricks[whisper_turn->part];
}

void whisper_computed(const void *graph)
{
	if (!whisper_turn || !whisper_turn->graph || whisper_turn->graph != graph)
		return;
	whisper_turn->graph = NULL;
	if (whisper_turn->part == WHISPER_CROSS || whisper_turn->part == WHISPER_DECODER)
		whisper_end_step();
}
