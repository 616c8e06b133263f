/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last 16 contexts that were used (contexts.h), under one lock. If another thread holds it, or
 * a context comes back after 16 others, its batch is judged by itself. The engine is asked for its
 * special tokens only when a batch of one or two plain tokens comes: asking takes some ns.
 */
#include "attach/ggml/steps/contexts.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/engine/resolve.h"
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/model_notes.h"
#include "attach/ggml/steps/phases.h"
#include "attach/ggml/steps/sequences.h"
#include "base/lock.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { NO_TOKEN = -1 }; /* LLAMA_TOKEN_NULL */

/* Functions of the copy of llama.cpp that `code` belongs to; NULL: not found. Never freed. */
struct vocabulary {
	const struct vocabulary *next;
	const void *code;
	const void *(*get_model)(const void *context);
	const void *(*get_vocab)(const void *model);
	int32_t (*bos)(const void *vocab);
	int32_t (*eos)(const void *vocab);
	void *(*get_memory)(const void *context);
	int32_t (*last_position)(void *memory, int32_t sequence);
	bool is_llama; /* the object has a further function of llama.cpp's */
};

static const struct vocabulary *vocabularies;

#define LOOK_UP(field, name) RESOLVE(field, &object, name, 0)

static const struct vocabulary *vocabulary_of(const void *code)
{
	const struct vocabulary *known = __atomic_load_n(&vocabularies, __ATOMIC_ACQUIRE);
	static const char *const in_all_versions[] = {"llama_n_ctx", "llama_tokenize",
		"llama_token_to_piece", "llama_print_system_info", "llama_context_default_params"};
	const size_t in_all = sizeof(in_all_versions) / sizeof(*in_all_versions);

	while (known && known->code != code)
		known = known->next;
	if (known)
		return known;
	struct vocabulary *v = calloc(1, sizeof(*v));
	struct loaded_object object;
	if (!v)
		return NULL;
	v->code = code;
	if (object_at(patched_home((uintptr_t)code), &object)) {
		LOOK_UP(v->get_model, "llama_get_model");
		LOOK_UP(v->get_vocab, "llama_model_get_vocab");
		LOOK_UP(v->bos, "llama_vocab_bos");
		LOOK_UP(v->eos, "llama_vocab_eos");
		LOOK_UP(v->get_memory, "llama_get_memory");
		LOOK_UP(v->last_position, "llama_memory_seq_pos_max");
		v->is_llama = v->get_model || v->get_vocab;
		for (size_t i = 0; i < in_all && !v->is_llama; i++) {
			const void *found;
			LOOK_UP(found, in_all_versions[i]);
			v->is_llama = found != NULL;
		}
	}
	v->next = __atomic_load_n(&vocabularies, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(
		&vocabularies, &v->next, v, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	return v;
}

bool contexts_are_of(const void *code)
{
	const struct vocabulary *v = vocabulary_of(code);

	return v && v->is_llama;
}

/* llama_get_memory(); NULL: this copy does not have it. */
static void *memory_of(const struct vocabulary *v, const void *context)
{
	return context && v && v->get_memory ? v->get_memory(context) : NULL;
}

/* How many positions of sequence 0 a context holds; -1: this copy cannot be asked. */
static int32_t context_tokens(const void *context, const void *code)
{
	const struct vocabulary *v = vocabulary_of(code);
	void *memory = memory_of(v, context);

	return memory && v->last_position ? v->last_position(memory, 0) + 1 : -1;
}

/* The tokens of a warm-up batch; count 0: this copy or vocabulary has none. */
struct special {
	int32_t tokens[2], count;
};

static bool contexts_is_whole(const struct vocabulary *v)
{
	return v && v->get_model && v->get_vocab && v->bos && v->eos && v->get_memory &&
	       v->last_position;
}

/*
 * BOS and EOS, as far as the vocabulary has them; token 0 if it has neither; none if it has only
 * BOS, which may be a real batch.
 */
static struct special contexts_ask(const void *context, const void *code)
{
	const struct vocabulary *v = vocabulary_of(code);
	struct special special = {{0, 0}, 0};

	if (!contexts_is_whole(v))
		return special;
	const void *vocab = v->get_vocab(v->get_model(context));
	int32_t bos = v->bos(vocab), eos = v->eos(vocab);
	if (bos != NO_TOKEN)
		special.tokens[special.count++] = bos;
	if (eos != NO_TOKEN)
		special.tokens[special.count++] = eos;
	else if (bos != NO_TOKEN)
		special.count = 0;
	else
		special.tokens[special.count++] = 0;
	return special;
}

static uint32_t contexts_made;

void warm_up_context_made(void)
{
	__atomic_add_fetch(&contexts_made, 1, __ATOMIC_RELAXED);
}

/* Asks a context once, until a scheduler is made: then another context may be at its address. */
static struct special special_of(const void *context, const void *code)
{
	static __thread struct {
		const void *context;
		uint32_t made;
		struct special special;
	} last __attribute__((tls_model("initial-exec")));
	uint32_t made = __atomic_load_n(&contexts_made, __ATOMIC_RELAXED);

	if (!made)
		return contexts_ask(context, code); /* schedulers are not hooked */
	if (BRICK_UNLIKELY(last.context != context || last.made != made)) {
		last.special = contexts_ask(context, code);
		last.context = context;
		last.made = made;
	}
	return last.special;
}

/* The context that llama_set_warmup() was called for; NULL: none. One is enough in practice. */
static const void *warm_context;

void warm_up_set(const void *context, int on)
{
	const void *was = context;

	if (on)
		__atomic_store_n(&warm_context, context, __ATOMIC_RELAXED);
	else
		__atomic_compare_exchange_n(
			&warm_context, &was, NULL, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool warm_up_is(const struct batch_head *batch, const void *context, const void *code)
{
	if (context && __atomic_load_n(&warm_context, __ATOMIC_RELAXED) == context)
		return true;
	if (batch->n_tokens < 1 || batch->n_tokens > 2 || !batch->tokens || batch->embeddings ||
		batch->positions || batch->sequences || batch->outputs || !context)
		return false;
	bool is_trial = batch->n_tokens == 2 && !batch->tokens[0] && !batch->tokens[1];
	if (!is_trial) {
		const struct special empty = special_of(context, code);
		if (batch->n_tokens != empty.count ||
			memcmp(batch->tokens, empty.tokens,
				(size_t)empty.count * sizeof(empty.tokens[0])))
			return false;
	}
	return contexts_is_whole(vocabulary_of(code)) && context_tokens(context, code) == 0;
}

enum {
	CONTEXTS = 16,
	BATCH_FOLLOWED = 4096, /* tokens of a batch whose sequences are remembered */
};

struct context {
	const void *context;	  /* NULL: a free entry */
	const void *memory;	  /* llama_get_memory(); NULL: not known */
	int32_t number;		  /* of contexts so far, from 0 */
	uint32_t told, told_made; /* brick__on and contexts_made when its model was noted */
	int32_t lone;		  /* 1 + sequence of its last batch if that was one token; else 0 */
	struct batch_past past;
	uint32_t prompt_read; /* 1 + results_read when its last batch came, if that was a prompt of
				 several tokens; else 0 */
	struct sequence_blocks blocks;
	int32_t batch_tokens;		     /* of its last batch */
	int16_t sequence_of[BATCH_FOLLOWED]; /* by its token's index; -1: several, or none */
};

static struct {
	pthread_mutex_t lock;
	uint32_t next; /* number of the next context */
	struct context of[CONTEXTS];
	struct batch_last last;
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock: the context's entry, a new one if need be. */
static struct context *context_of(const void *context)
{
	struct context *c = contexts.of;

	while (c < contexts.of + CONTEXTS && c->context != context)
		c++;
	if (c == contexts.of + CONTEXTS) {
		c = &contexts.of[contexts.next % CONTEXTS];
		for (struct context *f = contexts.of; c->context && f < contexts.of + CONTEXTS; f++)
			c = f->context ? c : f; /* a free entry, if there is one */
		memset(c, 0, sizeof(*c));
		c->context = context;
		c->number = (int32_t)contexts.next++;
	}
	return c;
}

/* The sequence of a lone token, if the batch before was a lone token of another sequence; else -1.
 */
static int32_t switched_to(struct context *c, const struct batch_head *batch)
{
	bool is_lone = batch->n_tokens == 1 && batch->sequences && batch->sequence_counts &&
		       batch->sequence_counts[0] == 1;
	int32_t before = c->lone;

	c->lone = is_lone ? batch->sequences[0][0] + 1 : 0;
	return is_lone && before && before != c->lone ? c->lone - 1 : -1;
}

/* The number of the context that made the drafts; -1: not known. */
static int32_t drafter_of(const struct batch_head *batch, const struct batch_sequences *sequences,
	const struct context *checks)
{
	for (const struct context *c = contexts.of; c < contexts.of + CONTEXTS; c++)
		if (c != checks && c->context && batch_is_drafted_by(batch, sequences, &c->past))
			return c->number;
	return -1;
}

enum { TRIES = 200 }; /* some us, in which the other thread has counted its batch */

static bool contexts_enter(void)
{
	for (int i = 0; i < TRIES; i++)
		if (!lock_try(&contexts.lock))
			return true;
	return false;
}

static uint32_t results_read; /* calls of contexts_results_read() */

void contexts_results_read(void)
{
	__atomic_add_fetch(&results_read, 1, __ATOMIC_RELAXED);
}

void contexts_count(struct phase_tokens *t, const void *code, struct batch_sequences *sequences)
{
	struct batch_head meant = *t->batch;

	t->number = t->switched = -1;
	if (!brick_enabled() || brick_thread_ready() || !contexts_enter()) {
		struct batch_tokens alone = batch_count_sequences(t->batch, NULL, sequences);
		t->prompt = alone.prompt;
		t->output = alone.output;
		t->sequences = sequences;
		return;
	}
	struct context *c = context_of(t->context);
	batch_take_outputs(&meant, &contexts.last);
	const void *memory = memory_of(vocabulary_of(code), t->context);
	if (c->memory != memory) {
		/* a freed context may have had its memory at this address */
		for (struct context *of = contexts.of; of < contexts.of + CONTEXTS; of++)
			of->memory = of->memory == memory ? NULL : of->memory;
		c->memory = memory;
	}
	c->past.goes_on = meant.positions ? 0 : context_tokens(t->context, code) + 1;
	sequences_tell_blocks(&c->blocks, &meant, &c->past, sequences_model(c->number));
	struct batch_tokens tokens = batch_count_sequences(&meant, &c->past, sequences);
	c->batch_tokens = t->batch->n_tokens;
	for (int32_t i = 0; i < t->batch->n_tokens && i < BATCH_FOLLOWED; i++)
		c->sequence_of[i] = (int16_t)batch_sequence_of(t->batch, i);
	t->sequences = sequences;
	t->prompt = tokens.prompt;
	t->output = tokens.output;
	uint32_t read = __atomic_load_n(&results_read, __ATOMIC_RELAXED) + 1;
	if (t->batch->n_tokens == 1 && !t->batch->positions) {
		/*
		 * A lone token without positions ends the prompt before it if nothing was made of
		 * that yet. Else it is a prompt of its own, or what a benchmark begins to generate
		 * with: an output, as to the engine.
		 */
		bool goes_on = c->prompt_read == read && c->past.goes_on > 1;
		t->prompt = sequences->of[0].prompt = goes_on;
		t->output = !goes_on;
	}
	c->prompt_read = t->prompt && t->batch->n_tokens > 1 ? read : 0;
	t->switched = switched_to(c, t->batch);
	t->checked = tokens.checked;
	t->refuted = tokens.refuted;
	t->number = c->number;
	t->drafter = tokens.checked ? drafter_of(&meant, sequences, c) : -1;
	/* Note its model once per session, and when another context may be at its address. */
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	uint32_t made = __atomic_load_n(&contexts_made, __ATOMIC_RELAXED);
	bool untold = c->told != session || c->told_made != made;
	c->told = session;
	c->told_made = made;
	lock_give(&contexts.lock);
	if (untold)
		note_model(t->context, code, t->number);
}

void contexts_sampled(const void *context, int32_t index)
{
	struct brick_sequence_record event = {.event = BRICK_SEQUENCE_SAMPLED, .sequence = -1};

	if (!context || brick_thread_ready() || !contexts_enter())
		return;
	for (struct context *c = contexts.of; c < contexts.of + CONTEXTS; c++) {
		if (c->context != context)
			continue;
		int32_t at = index < 0 ? c->batch_tokens + index : index;
		event.model = sequences_model(c->number);
		if (at >= 0 && at < c->batch_tokens && at < BATCH_FOLLOWED)
			event.sequence = c->sequence_of[at];
	}
	lock_give(&contexts.lock);
	if (event.sequence >= 0)
		brick_record_sequences(&event, 1);
}

void contexts_sequence(const void *of, struct brick_sequence_record *event)
{
	uint32_t refuted = 0;
	int32_t number = -1;

	if (!of || brick_thread_ready() || !contexts_enter())
		return;
	for (struct context *c = contexts.of; c < contexts.of + CONTEXTS; c++) {
		if (c->context != of && c->memory != of)
			continue;
		if (event->event == BRICK_SEQUENCE_REMOVED) {
			refuted = 0;
			for (int32_t id = 0; id < BATCH_SEQUENCES; id++)
				if (event->sequence == BRICK_SEQUENCE_ALL || event->sequence == id)
					refuted += batch_removed(&c->past, id,
						event->position < 0 ? 0 : event->position,
						event->end);
		} else if (event->event == BRICK_SEQUENCE_MOVED) {
			batch_moved(
				&c->past, event->sequence, event->position, (int32_t)event->tokens);
		}
		number = c->number;
		event->model = sequences_model(c->number);
	}
	lock_give(&contexts.lock);
	if (number >= 0)
		brick_record_sequences(event, 1);
	if (refuted)
		step_refuted(number, refuted);
}

void contexts_freed(const void *context)
{
	struct brick_sequence_record event = {
		.event = BRICK_SEQUENCE_FREED, .sequence = BRICK_SEQUENCE_ALL};
	bool was_known = false;

	if (!context || !contexts_enter())
		return;
	for (struct context *c = contexts.of; c < contexts.of + CONTEXTS; c++) {
		if (c->context != context)
			continue;
		was_known = true;
		event.model = sequences_model(c->number);
		c->context = c->memory = NULL;
	}
	lock_give(&contexts.lock);
	if (was_known && brick_enabled())
		brick_record_sequences(&event, 1);
}
