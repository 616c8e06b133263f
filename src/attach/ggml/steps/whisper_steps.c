/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps from graphs (whisper_steps.h). What a decoder's graph is given is a prompt or one token for
 * each of up to eight candidates; the graph does not say which. What follows the encoder is a
 * prompt, and so are more than eight, or more than there were candidates in the step before (they
 * only get fewer). Called by hooks_graph.c.
 */
#include "attach/ggml/steps/whisper_steps.h"

#include <pthread.h>
#include "attach/ggml/nodes/node_record.h"
#include "attach/ggml/steps/steps.h"
#include "attach/ggml/graphs/whisper_graph.h"
#include "brick/brick.h"

enum { MAX_CANDIDATES = 8, FRESH = 8, CALLERS = 8 };

/* On each thread: the graph that got its memory last, and the step that it is in. */
static __thread struct {
	const void *graph;
	enum whisper_part part;
	struct phase_scope step;
	int is_open;
	int32_t candidates; /* in the step before; 0: it was no decoder's */
} turn __attribute__((tls_model("initial-exec")));

/* Schedulers that have not allocated anything yet; overwritten in turn. */
static const void *fresh[FRESH];
static uint32_t fresh_next;

void whisper_scheduler_made(const void *scheduler)
{
	uint32_t at = __atomic_fetch_add(&fresh_next, 1, __ATOMIC_RELAXED) % FRESH;

	__atomic_store_n(&fresh[at], scheduler, __ATOMIC_RELAXED);
}

static int was_fresh(const void *scheduler)
{
	for (int i = 0; i < FRESH; i++) {
		const void *known = scheduler;
		if (__atomic_compare_exchange_n(
			    &fresh[i], &known, NULL, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return 1;
	}
	return 0;
}

/* The library's own function, of its own object. */
static int has_whisper(const void *caller)
{
	struct loaded_object object;

	if (!resolve_object((uintptr_t)caller, &object))
		return 0;
	uintptr_t found = (uintptr_t)resolve_from(&object, "whisper_init_state", 0);
	return found - object.low < object.bytes;
}

/* Where graphs get their memory is a handful of places in a program. */
static int is_whisper(const void *caller)
{
	static struct {
		const void *caller;
		uint32_t generation;
		int is_whisper;
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

static int is_prompt(int32_t tokens)
{
	return !turn.candidates || tokens > MAX_CANDIDATES || tokens > turn.candidates;
}

static void begin_step(const struct phase_tokens *tokens, const void *code, const void *frame)
{
	if (turn.is_open)
		phase_end(&turn.step);
	/* just above whatever else this caller is going to begin */
	step_begin(&turn.step, tokens, "graphs of whisper.cpp", code, (const char *)frame + 1);
	turn.is_open = 1;
}

static void begin_decoder(int32_t tokens, const void *code, const void *frame)
{
	int prompt = is_prompt(tokens);

	begin_step(&(struct phase_tokens){.prompt = prompt ? (uint32_t)tokens : 0,
			   .output = prompt ? 0 : (uint32_t)tokens},
		code, frame);
	turn.candidates = prompt ? MAX_CANDIDATES : tokens;
}

/* What that takes is Brick's own time; within the step, as all that follows one is counted to it.
 */
static void name_graph(const struct engine *e, const void *graph)
{
	uint64_t begin = brick__now();

	whisper_graph_name(e, graph, turn.part);
	node_record_span(phase_brick(PHASE_LOOKUP), begin, brick__now());
}

void whisper_alloc_begin(const void *scheduler, const void *graph, const void *caller,
	uintptr_t engine_code, const void *frame)
{
	int32_t tokens;

	turn.graph = NULL;
	if (!brick_enabled() || !is_whisper(caller))
		return;
	const struct engine *e = engine_at(engine_code);
	turn.part = whisper_graph_part(e, graph, &tokens);
	if (!turn.part || was_fresh(scheduler))
		return;
	turn.graph = graph;
	if (turn.part == WHISPER_DECODER) {
		begin_decoder(tokens, caller, frame);
	} else if (turn.part == WHISPER_CONV) {
		begin_step(&(struct phase_tokens){.prompt = (uint32_t)tokens}, caller, frame);
		turn.candidates = 0;
	}
	name_graph(e, graph);
}

static uint16_t bricks[WHISPER_PARTS];

static void register_bricks(void)
{
	static const char *const names[WHISPER_PARTS] = {
		NULL, "ConvGraph", "EncoderGraph", "CrossGraph", "DecoderGraph"};

	for (int i = 0; i < WHISPER_PARTS; i++) {
		int id = names[i] ? brick_register(names[i], BRICK_CATEGORY_ENGINE) : -1;
		bricks[i] = id >= 0 ? (uint16_t)id : phase_brick(PHASE_GRAPH_COMPUTE);
	}
}

uint16_t whisper_graph_brick(const void *graph)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!turn.graph || turn.graph != graph)
		return phase_brick(PHASE_GRAPH_COMPUTE);
	pthread_once(&once, register_bricks);
	return bricks[turn.part];
}

void whisper_computed(const void *graph)
{
	if (!turn.graph || turn.graph != graph)
		return;
	turn.graph = NULL;
	if (!turn.is_open || (turn.part != WHISPER_CROSS && turn.part != WHISPER_DECODER))
		return;
	phase_end(&turn.step);
	turn.is_open = 0;
}
