/* SPDX-License-Identifier: Apache-2.0 */
/* Steps (steps.h): begun by the hooks of hooks_step.c and hooks_graph.c. */
#include "attach/ggml/steps.h"

#include <string.h>
#include "attach/ggml/notes.h"
#include "brick/attach.h"

enum { MAX_SEQUENCES = 1024 };

static uint32_t has_own_steps; /* llama_decode() or its kin has been called */

int batch_is_decode(const struct batch_head *batch)
{
	uint64_t seen[MAX_SEQUENCES / 64];

	if (batch->n_tokens <= 1)
		return 1;
	if (batch->n_tokens > MAX_SEQUENCES || !batch->sequence_counts || !batch->sequences)
		return 0;
	memset(seen, 0, sizeof seen);
	for (int32_t i = 0; i < batch->n_tokens; i++) {
		if (batch->sequence_counts[i] != 1 || !batch->sequences[i])
			return 0;
		int32_t id = batch->sequences[i][0];
		if (id < 0 || id >= MAX_SEQUENCES || seen[id / 64] >> (id % 64) & 1)
			return 0;
		seen[id / 64] |= 1ull << (id % 64);
	}
	return 1;
}

/* Once per session and method; before the step, not in its time. */
static void note_method(const char *method, const void *code)
{
	static const char *last;
	static uint32_t session;
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (__atomic_load_n(&last, __ATOMIC_RELAXED) == method &&
		__atomic_load_n(&session, __ATOMIC_RELAXED) == now)
		return;
	if (brick_thread_ready())
		return;
	__atomic_store_n(&last, method, __ATOMIC_RELAXED);
	__atomic_store_n(&session, now, __ATOMIC_RELAXED);
	notes_steps(method);
	if (code)
		notes_library("llama.library", (uintptr_t)code);
}

void step_begin(struct phase_scope *scope, int decode, uint64_t tokens, const char *method,
	const void *code, const void *frame)
{
	*scope = (struct phase_scope){0, 0, 0};
	if (!brick_enabled() || phase_in_step(frame))
		return;
	__atomic_store_n(&has_own_steps, 1, __ATOMIC_RELAXED);
	note_method(method, code);
	phase_step_begin(scope, decode, tokens, frame);
}

void step_begin_graph(struct phase_scope *scope, const void *frame)
{
	*scope = (struct phase_scope){0, 0, 0};
	if (!brick_enabled() || __atomic_load_n(&has_own_steps, __ATOMIC_RELAXED) ||
		phase_in_step(frame))
		return;
	note_method("one per graph: this engine has no steps that are known; tokens unknown", NULL);
	/* Just above the phase that the same hook is going to begin. */
	phase_step_begin(scope, 1, 0, (const char *)frame + 1);
}
