/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of the contexts that were used last. One thread at a time: where another one is here, or a
 * context came back after many others, what a lone token is is told by the batch alone. Called by
 * the hooks of steps.
 */
#include "attach/ggml/steps/contexts.h"

#include <pthread.h>
#include <string.h>
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/steps.h"
#include "attach/ggml/steps/warm_up.h"
#include "base/lock.h"
#include "brick/brick.h"

enum { CONTEXTS = 8 };

struct context {
	const void *context;
	const void *memory;
	int32_t number; /* from 0, in the order in which they came */
	struct batch_past past;
};

static struct {
	pthread_mutex_t lock;
	uint32_t next;
	struct context of[CONTEXTS];
	struct batch_last last;
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct context *context_of(const void *context)
{
	struct context *c = contexts.of;

	while (c < contexts.of + CONTEXTS && c->context != context)
		c++;
	if (c == contexts.of + CONTEXTS) {
		c = &contexts.of[contexts.next % CONTEXTS];
		memset(c, 0, sizeof *c);
		c->context = context;
		c->number = (int32_t)contexts.next++;
	}
	return c;
}

/* The memory of one that is gone may be another's now. */
static void set_memory(struct context *context, const void *memory)
{
	if (context->memory == memory)
		return;
	for (struct context *c = contexts.of; c < contexts.of + CONTEXTS; c++)
		c->memory = c->memory == memory ? NULL : c->memory;
	context->memory = memory;
}

/* -1: it cannot be told. */
static int32_t drafter_of(const struct batch_head *batch, const struct context *checks)
{
	for (const struct context *c = contexts.of; c < contexts.of + CONTEXTS; c++)
		if (c != checks && c->context && batch_is_drafted_by(batch, &c->past))
			return c->number;
	return -1;
}

void contexts_count(struct phase_tokens *t, const void *code)
{
	struct batch_head meant = *t->batch;

	t->number = -1;
	if (!brick_enabled() || lock_try(&contexts.lock)) {
		struct batch_tokens alone = batch_count(t->batch, NULL);
		t->prompt = alone.prompt;
		t->output = alone.output;
		return;
	}
	struct context *c = context_of(t->context);
	batch_as_meant(&meant, &contexts.last);
	set_memory(c, context_memory(t->context, code));
	c->past.goes_on = meant.positions ? 0 : context_tokens(t->context, code) + 1;
	struct batch_tokens tokens = batch_count(&meant, &c->past);
	t->prompt = tokens.prompt;
	t->output = tokens.output;
	if (t->batch->n_tokens == 1 && !t->batch->positions) {
		/* a prompt, or what a benchmark begins to generate with: as the engine counts it */
		t->prompt = 0;
		t->output = 1;
	}
	t->checked = tokens.checked;
	t->refuted = tokens.refuted;
	t->number = c->number;
	t->drafter = tokens.checked ? drafter_of(&meant, c) : -1;
	lock_give(&contexts.lock);
}

void contexts_moved(int32_t sequence, int32_t from, int32_t by)
{
	if (lock_try(&contexts.lock))
		return;
	for (size_t i = 0; i < CONTEXTS; i++)
		batch_moved(&contexts.of[i].past, sequence, from, by);
	lock_give(&contexts.lock);
}

void contexts_removed(const void *memory, int32_t sequence, int32_t from, int32_t to)
{
	uint32_t refuted = 0;
	int32_t number = 0;

	if (!memory || lock_try(&contexts.lock))
		return;
	for (struct context *c = contexts.of; c < contexts.of + CONTEXTS; c++) {
		if (c->memory != memory)
			continue;
		refuted = batch_removed(&c->past, sequence, from, to);
		number = c->number;
	}
	lock_give(&contexts.lock);
	if (refuted)
		step_refuted(number, refuted);
}
