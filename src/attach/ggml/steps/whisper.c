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
#include <string.h>
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/nodes/node_thread.h"
#include "attach/ggml/steps/phases.h"
#include "base/hash.h"
#include "base/scope.h"
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
	const char *side; /* "encoder", "decoder" */
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

/* Of the model: nobody computes it, and it views nothing. */
static bool is_weight(const struct reader *r, const void *tensor)
{
	return whisper_is(r, tensor, "NONE") && !tensor_view_source(&r->e->layout, tensor);
}

static bool whisper_is_weight_product(const struct reader *r, const void *node)
{
	const void *weight = whisper_source(r, node, 0), *with = whisper_source(r, node, 1);

	/* as wide as what it is multiplied with: masks of single heads are not */
	return whisper_is(r, node, "MUL_MAT") && is_weight(r, weight) &&
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

/* A sum or product with a vector of the model belongs to what it is applied to. */
static void name_with_vector(
	const struct reader *r, const void *node, const void *of, const void *vector)
{
	char role[ROLE_BYTES];

	if (!role_of(r, of, role))
		snprintf(role, sizeof(role), "node");
	whisper_give(r, vector, role, whisper_is(r, node, "MUL") ? ".weight" : ".bias");
	whisper_give(r, node, role, "");
}

static void name_elementwise(const struct reader *r, const void *node)
{
	const void *a = whisper_source(r, node, 0), *b = whisper_source(r, node, 1);

	if (is_weight(r, b))
		name_with_vector(r, node, a, b);
	else
		whisper_give(r, node, whisper_is(r, node, "ADD") ? "residual" : "node", "");
}

static void name_attention(struct reader *r, const void *node)
{
	char role[ROLE_BYTES];
	const char *step = whisper_is(r, node, "MUL_MAT")    ? (r->has_softmax ? ".kqv" : ".kq")
			   : whisper_is(r, node, "SOFT_MAX") ? ".softmax"
							     : ".flash";

	r->has_softmax |= whisper_is(r, node, "SOFT_MAX");
	snprintf(
		role, sizeof(role), "%s%s", r->kind->attention ? r->kind->attention : "node", step);
	whisper_give(r, node, role, "");
}

/* Copied into a cache, which is there all the time, or passed on in another form. */
static void name_passed_on(const struct reader *r, const void *node)
{
	char role[ROLE_BYTES];
	const void *to = whisper_source(r, node, 1);
	bool is_cache = whisper_is(r, node, "CPY") && whisper_is(r, to, "VIEW");

	if (whisper_is(r, whisper_source(r, node, 0), "NONE"))
		return; /* a mask, for all blocks */
	if (!role_of(r, whisper_source(r, node, 0), role))
		snprintf(role, sizeof(role), "node");
	whisper_give(r, node, role, is_cache ? ".cache" : "");
}

static void name_node(struct reader *r, const void *node)
{
	if (whisper_is_weight_product(r, node))
		return; /* name_products() has */
	if (whisper_is(r, node, "NORM"))
		whisper_give(r, node, r->kind->norm, "");
	else if (whisper_is(r, node, "ADD") || whisper_is(r, node, "MUL"))
		name_elementwise(r, node);
	else if (whisper_is(r, node, "MUL_MAT") || whisper_is(r, node, "SOFT_MAX") ||
		 whisper_is(r, node, "FLASH_ATTN_EXT"))
		name_attention(r, node);
	else
		name_passed_on(r, node);
}

static void name_range(struct reader *r, int begin, int end)
{
	for (int i = begin; i < end; i++)
		name_node(r, r->nodes[i]);
}

/* Between two norms; `layer` -1: behind the last. */
static void name_segment(
	struct reader *r, int begin, int end, const struct segment_kind *kind, int layer)
{
	r->kind = kind;
	r->has_softmax = 0;
	snprintf(r->prefix, sizeof(r->prefix), "%s.blocks.%d.", r->side, layer);
	name_products(r, begin, end);
	name_range(r, begin, end);
}

/* The last norm, and the vocabulary's product behind it. */
static void name_end(struct reader *r, int begin)
{
	static const struct segment_kind end = {"ln", {"token_embedding"}, NULL};

	r->kind = &end;
	snprintf(r->prefix, sizeof(r->prefix), "%s.", r->side);
	name_products(r, begin, r->count);
	name_range(r, begin, r->count);
}

static int next_norm(const struct reader *r, int i)
{
	while (i < r->count && !whisper_is(r, r->nodes[i], "NORM"))
		i++;
	return i;
}

static int count_norms(const struct reader *r)
{
	int n = 0;

	for (int i = next_norm(r, 0); i < r->count; i = next_norm(r, i + 1))
		n++;
	return n;
}

/* Rows of a table: of tokens, or of places. */
static void name_rows(const struct reader *r, const void *node)
{
	bool is_place = !strcmp(r->e->get_name(whisper_source(r, node, 1)), "position");

	whisper_give(r, whisper_source(r, node, 0),
		is_place ? "positional_embedding" : "token_embedding.weight", "");
}

/* What precedes the first block. */
static void name_begin(struct reader *r, int end)
{
	snprintf(r->prefix, sizeof(r->prefix), "%s.", r->side);
	for (int i = 0; i < end; i++) {
		const void *node = r->nodes[i];
		if (whisper_is(r, node, "GET_ROWS"))
			name_rows(r, node);
		else if (whisper_is(r, node, "ADD"))
			whisper_give(r, node, "positional_embedding", ".sum");
	}
}

static void name_blocks(struct reader *r, const char *side, int in_block)
{
	int norms = count_norms(r), begin = next_norm(r, 0);

	r->side = side;
	if (norms < 1 + in_block || (norms - 1) % in_block)
		return; /* another model than we know */
	name_begin(r, begin);
	for (int s = 0; s < norms - 1; s++) {
		int end = next_norm(r, begin + 1), part = s % in_block;
		name_segment(r, begin, end,
			part == in_block - 1 ? &feed_forward
			: part		     ? &cross_attention
					     : &self_attention,
			s / in_block);
		begin = end;
	}
	name_end(r, begin);
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

static void name_conv(struct reader *r)
{
	snprintf(r->prefix, sizeof(r->prefix), "encoder.");
	for (int i = 0; i < r->count; i++)
		whisper_give(r, r->nodes[i], "conv", "");
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

static void name_all(struct reader *r, enum whisper_part part)
{
	if (part == WHISPER_CONV)
		name_conv(r);
	else if (part == WHISPER_CROSS)
		name_cross(r);
	else if (part == WHISPER_ENCODER)
		name_blocks(r, "encoder", 2);
	else if (part == WHISPER_DECODER)
		name_blocks(r, "decoder", 3);
}

static uint64_t hash_node(const struct reader *r, const void *node, uint64_t hash)
{
	uint64_t name[2];

	memcpy(name, tensor_field(node, r->e->layout.name), sizeof(name));
	hash = hash_add(hash, (uint64_t)(uintptr_t)node);
	hash = hash_add(hash, (uint64_t)(uintptr_t)whisper_source(r, node, 0));
	hash = hash_add(hash, (uint32_t)tensor_int32(node, r->e->layout.op));
	return hash_add(hash_add(hash, name[0]), name[1]);
}

/* The same tensors as the last time: they have their names. */
static bool whisper_is_named(const struct reader *r, enum whisper_part part)
{
	static uint64_t last[WHISPER_PARTS];
	uint64_t hash = (uint64_t)r->count;

	for (int i = 0; i < r->count; i++)
		hash = hash_node(r, r->nodes[i], hash);
	return __atomic_exchange_n(&last[part], hash, __ATOMIC_RELAXED) == hash;
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

/* On each thread: the graph that got its memory last, and the step that it is in. */
static __thread struct {
	const void *graph;
	enum whisper_part part;
	struct phase_scope step;
	bool is_open;
	int32_t candidates; /* in the step before; 0: it was no decoder's */
} whisper_turn __attribute__((tls_model("initial-exec")));

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

/* The library's own function, of its own object. */
static bool has_whisper(const void *caller)
{
	struct loaded_object object;

	if (!resolve_object((uintptr_t)caller, &object))
		return false;
	uintptr_t found = (uintptr_t)resolve_from(&object, "whisper_init_state", 0);
	return found - object.low < object.bytes;
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
	is = has_whisper(caller);
	pthread_mutex_lock(&lock);
	known[next++ % CALLERS] = (typeof(known[0])){caller, generation, is};
	pthread_mutex_unlock(&lock);
	return is;
}

static bool whisper_is_prompt(int32_t tokens)
{
	return !whisper_turn.candidates || tokens > MAX_CANDIDATES ||
	       tokens > whisper_turn.candidates;
}

static void whisper_begin_step(
	const struct phase_tokens *tokens, const void *code, const void *frame)
{
	if (whisper_turn.is_open)
		phase_end(&whisper_turn.step);
	/* just above whatever else this caller is going to begin */
	step_begin(
		&whisper_turn.step, tokens, "graphs of whisper.cpp", code, (const char *)frame + 1);
	whisper_turn.is_open = 1;
}

static void begin_decoder(int32_t tokens, const void *code, const void *frame)
{
	int prompt = whisper_is_prompt(tokens);

	whisper_begin_step(&(struct phase_tokens){.prompt = prompt ? (uint32_t)tokens : 0,
				   .output = prompt ? 0 : (uint32_t)tokens},
		code, frame);
	whisper_turn.candidates = prompt ? MAX_CANDIDATES : tokens;
}

/* Naming is Brick's own time. It lies within the step, as all that follows a step counts to it. */
static void name_graph(struct reader *r)
{
	uint64_t begin = brick__now();

	if (!whisper_is_named(r, whisper_turn.part))
		name_all(r, whisper_turn.part);
	node_record_span(phase_brick(PHASE_LOOKUP), begin, brick__now());
}

void whisper_alloc_begin(const void *scheduler, const void *graph, const void *caller,
	uintptr_t engine_code, const void *frame)
{
	struct reader r;

	whisper_turn.graph = NULL;
	if (!brick_enabled() || !is_whisper(caller))
		return;
	whisper_turn.part =
		open_graph(&r, engine_at(engine_code), graph) ? whisper_part_of(&r) : WHISPER_NONE;
	if (!whisper_turn.part || was_fresh(scheduler))
		return;
	int32_t tokens = whisper_tokens_of(&r, whisper_turn.part);
	whisper_turn.graph = graph;
	if (whisper_turn.part == WHISPER_DECODER) {
		begin_decoder(tokens, caller, frame);
	} else if (whisper_turn.part == WHISPER_CONV) {
		whisper_begin_step(
			&(struct phase_tokens){.prompt = (uint32_t)tokens}, caller, frame);
		whisper_turn.candidates = 0;
	}
	name_graph(&r);
}

static uint16_t whisper_bricks[WHISPER_PARTS];

static void whisper_register_bricks(void)
{
	static const char *const names[WHISPER_PARTS] = {
		NULL, "ConvGraph", "EncoderGraph", "CrossGraph", "DecoderGraph"};

	for (int i = 0; i < WHISPER_PARTS; i++) {
		int id = names[i] ? brick_register(names[i], BRICK_CATEGORY_ENGINE) : -1;
		whisper_bricks[i] = id >= 0 ? (uint16_t)id : phase_brick(PHASE_GRAPH_COMPUTE);
	}
}

uint16_t whisper_graph_brick(const void *graph)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!whisper_turn.graph || whisper_turn.graph != graph)
		return phase_brick(PHASE_GRAPH_COMPUTE);
	pthread_once(&once, whisper_register_bricks);
	return whisper_bricks[whisper_turn.part];
}

void whisper_computed(const void *graph)
{
	if (!whisper_turn.graph || whisper_turn.graph != graph)
		return;
	whisper_turn.graph = NULL;
	if (!whisper_turn.is_open ||
		(whisper_turn.part != WHISPER_CROSS && whisper_turn.part != WHISPER_DECODER))
		return;
	phase_end(&whisper_turn.step);
	whisper_turn.is_open = 0;
}
