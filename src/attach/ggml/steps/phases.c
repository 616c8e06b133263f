/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases and steps (phases.h). The thread's own stack grows down, so frames on the stack of phases
 * fall. An entry whose frame is not above a new phase's frame was left behind.
 */
#include "attach/ggml/steps/phases.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/entry.h"
#include "attach/common/notes_once.h"
#include "attach/common/step_readings.h"
#include "attach/ggml/graphs/device_nodes.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/graphs/node_ready.h"
#include "attach/ggml/nodes/node_run.h"
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/engine_buffers.h"
#include "attach/ggml/steps/sequences.h"
#include "base/thread.h"
#include "brick/abi/overhead.h"
#include "brick/abi/step_counters.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { MAX_DEPTH = 24 }; /* deeper phases are not recorded */

struct open_phase {
	const char *frame; /* of the hook that began it */
	brick_span span;
	uint16_t brick;
	uint8_t is_step;
	uint8_t is_owner;			 /* it has set a launch owner */
	const struct brick_launch_owner *before; /* to be restored; if is_owner */
	struct load_reading loading;		 /* at its begin, if it loads a model */
};

struct phase_thread {
	uint32_t depth;		 /* entries of `open` */
	uint32_t steps;		 /* steps among them */
	uint32_t muted;		 /* 1: nothing is recorded */
	struct open_phase *open; /* [MAX_DEPTH]; NULL: the thread has begun no phase yet */
};

static __thread struct phase_thread phase_thread __attribute__((tls_model("initial-exec")));
static struct {
	uint16_t of[PHASE_COUNT];
	int known;
} phases_bricks __attribute__((aligned(64)));
static pthread_once_t phases_once = PTHREAD_ONCE_INIT;

static struct thread_exit phases_exit_of_thread;

static void phases_thread_exits(void *open)
{
	phase_thread = (struct phase_thread){.muted = phase_thread.muted};
	free(open);
}

__attribute__((constructor)) static void phases_watch_threads(void)
{
	thread_exit_create(&phases_exit_of_thread, phases_thread_exits);
}

static void phases_register_bricks(void)
{
	static const struct {
		enum phase phase;
		int brick; /* -1: registered by name */
		const char *name;
	} list[PHASE_COUNT] = {
		{PHASE_BATCH_PREPARE, BRICK_BATCH_PREPARE, NULL},
		{PHASE_KV_PREPARE, BRICK_KV_CACHE_PREPARE, NULL},
		{PHASE_UBATCH, BRICK_UBATCH_PROCESS, NULL},
		{PHASE_GRAPH_BUILD, BRICK_GRAPH_BUILD, NULL},
		{PHASE_GRAPH_ALLOC, BRICK_GRAPH_ALLOC, NULL},
		{PHASE_GRAPH_PLAN, BRICK_GRAPH_PLAN, NULL},
		{PHASE_GRAPH_COMPUTE, BRICK_GRAPH_COMPUTE, NULL},
		{PHASE_FORWARD, -1, "Forward"},
		{PHASE_BACKWARD, -1, "Backward"},
		{PHASE_OPTIMIZER, -1, "OptimizerStep"},
		{PHASE_THREAD_START, -1, "ThreadStart"},
		{PHASE_THREAD_JOIN, -1, "ThreadJoin"},
		{PHASE_RECORD_COMMANDS, -1, "RecordCommands"},
		{PHASE_SPLIT_COPY, -1, "SplitCopy"},
		{PHASE_INPUT_COPY, BRICK_INPUT_COPY, NULL},
		{PHASE_OUTPUT_COPY, BRICK_OUTPUT_COPY, NULL},
		{PHASE_SYNCHRONIZE, BRICK_SYNCHRONIZE, NULL},
		{PHASE_SAMPLING, BRICK_SAMPLING, NULL},
		{PHASE_TOKEN_ACCEPT, -1, "TokenAccept"},
		{PHASE_MODEL_OPEN, -1, "ModelOpen"},
		{PHASE_MODEL_MAP, -1, "ModelMap"},
		{PHASE_MODEL_READ, -1, "ModelRead"},
		{PHASE_MODEL_LOCK, -1, "ModelLock"},
		{PHASE_STATE_LOAD, -1, "StateLoad"},
		{PHASE_STATE_SAVE, -1, "StateSave"},
		{PHASE_LOOKUP, -1, BRICK_LOOKUP_NAME},
		{PHASE_SPLIT, -1, BRICK_SPLIT_NAME},
		{PHASE_PLAIN, -1, BRICK_PLAIN_NAME},
	};

	for (int i = 0; i < PHASE_COUNT; i++) {
		int id = list[i].brick >= 0 ? list[i].brick
					    : brick_register(list[i].name, BRICK_CATEGORY_ENGINE);
		phases_bricks.of[list[i].phase] = (uint16_t)(id >= 0 ? id : BRICK_GRAPH_COMPUTE);
	}
	__atomic_store_n(&phases_bricks.known, 1, __ATOMIC_RELEASE);
}

uint16_t phase_brick(enum phase phase)
{
	if (BRICK_UNLIKELY(!__atomic_load_n(&phases_bricks.known, __ATOMIC_ACQUIRE)))
		pthread_once(&phases_once, phases_register_bricks);
	return phases_bricks.of[phase];
}

void phase_graph_bricks(uint16_t *bricks, const char *const *names, int count)
{
	for (int i = 0; i < count; i++) {
		int id = names[i] ? brick_register(names[i], BRICK_CATEGORY_ENGINE) : -1;
		bricks[i] = id >= 0 ? (uint16_t)id : phase_brick(PHASE_GRAPH_COMPUTE);
	}
}

static void phases_close_top(struct phase_thread *p)
{
	struct open_phase *top = &p->open[--p->depth];

	p->steps -= top->is_step;
	if (top->is_owner)
		brick_launch_owner_set(top->before);
	if (BRICK_UNLIKELY(top->loading.is_valid)) {
		const struct load_reading now = load_reading_now();
		load_reading_tell(&top->loading, &now);
	}
	brick_end(top->span);
}

static void close_left_behind(struct phase_thread *p, const char *frame)
{
	while (p->depth && p->open[p->depth - 1].frame <= frame)
		phases_close_top(p);
}

/* Prepares the thread and closes phases left behind. 0: nothing is to be recorded. */
static int phases_enter(struct phase_scope *scope, const char *frame)
{
	struct node_thread *t = &node_thread;

	*scope = (struct phase_scope){0, 0, 0};
	if (!brick_enabled() || phase_thread.muted)
		return 0;
	if (BRICK_UNLIKELY(!phase_thread.open) &&
		!(phase_thread.open = thread_exit_allocate(
			  &phases_exit_of_thread, MAX_DEPTH * sizeof(*phase_thread.open))))
		return 0;
	node_thread_ready(t);
	if (BRICK_UNLIKELY(--t->hook_left == 0)) {
		t->hook_left = node_cost_draw(&t->hook_cost);
		scope->timed = 1;
		scope->hook_ticks = brick__now();
	}
	node_flush();
	close_left_behind(&phase_thread, frame);
	return 1;
}

/* The first half of the hook is over: keep its cost until phase_end(). */
static void entered(struct phase_scope *scope)
{
	if (BRICK_UNLIKELY(scope->timed))
		scope->hook_ticks = brick__now() - scope->hook_ticks;
}

void phase_begin(struct phase_scope *scope, enum phase phase, const void *frame)
{
	phase_begin_brick(scope, phase_brick(phase), frame);
	if (BRICK_UNLIKELY(phase >= PHASE_MODEL_OPEN && phase <= PHASE_MODEL_LOCK && scope->depth))
		phase_thread.open[scope->depth - 1].loading = load_reading_now();
}

/*
 * A device's copies belong to the phase that asks for them. Launches of a scheduler between its
 * backends' graphs are copies from one backend to another. But if the begin of these graphs cannot
 * be seen, such a launch may be anything, and counts as the graph's.
 */
static void own_copies(struct open_phase *open)
{
	if (open->brick == phase_brick(PHASE_GRAPH_COMPUTE))
		open->before = brick_launch_owner_set(device_phase_owner(
			method_sees_backends() ? phase_brick(PHASE_SPLIT_COPY) : open->brick));
	else if (open->brick == BRICK_INPUT_COPY || open->brick == BRICK_OUTPUT_COPY)
		open->before = brick_launch_owner_set(device_phase_owner(open->brick));
	else
		return;
	open->is_owner = 1;
}

void phase_begin_brick(struct phase_scope *scope, uint16_t brick, const void *frame)
{
	struct phase_thread *p = &phase_thread;

	if (!phases_enter(scope, frame))
		return;
	int folded = p->depth && p->open[p->depth - 1].brick == brick;
	if (!folded && p->depth < MAX_DEPTH) {
		p->open[p->depth++] = (struct open_phase){
			.frame = frame, .span = brick_begin_layer(brick, -1), .brick = brick};
		scope->depth = p->depth;
		if (!method_cpu_only())
			own_copies(&p->open[p->depth - 1]);
	}
	entered(scope);
}

void phase_step_begin(
	struct phase_scope *scope, const struct phase_tokens *tokens, const void *frame)
{
	struct phase_thread *p = &phase_thread;

	if (!phases_enter(scope, frame) || p->depth == MAX_DEPTH)
		return;
	struct open_phase *step = &p->open[p->depth++];
	*step = (struct open_phase){.frame = frame, .is_step = 1};
	if (tokens->warm_up) {
		step->brick = BRICK_WARM_UP;
		step->span = brick_step_begin(
			BRICK_PHASE_WARM_UP, (uint64_t)tokens->prompt + tokens->output);
	} else if (!tokens->prompt) {
		step->brick = BRICK_DECODE;
		step->span = brick_step_begin(BRICK_PHASE_DECODE, tokens->output);
	} else {
		step->brick = tokens->output ? BRICK_MIXED : BRICK_PREFILL;
		step->span = brick_step_begin_mixed(tokens->prompt, tokens->output);
	}
	p->steps++;
	scope->depth = p->depth;
	entered(scope);
}

void phase_end(struct phase_scope *scope)
{
	struct phase_thread *p = &phase_thread;
	uint64_t now = scope->timed ? brick__now() : 0;

	if (!scope->depth && !scope->timed)
		return;
	node_flush();
	while (scope->depth && p->depth >= scope->depth)
		phases_close_top(p);
	if (BRICK_UNLIKELY(scope->timed))
		node_cost_report(&node_thread.hook_cost, scope->hook_ticks + (brick__now() - now));
}

bool phase_in_step(const void *frame)
{
	close_left_behind(&phase_thread, frame);
	return phase_thread.steps != 0;
}

void phase_mute(bool muted)
{
	phase_thread.muted = (uint32_t)muted;
}

bool phase_is_muted(void)
{
	return phase_thread.muted != 0;
}

void phase_forget(void)
{
	phase_thread.depth = phase_thread.steps = phase_thread.muted = 0;
}

static uint32_t has_own_steps; /* 1: a step's own function was called, recorded or not */

void step_switch(bool is_own)
{
	if (is_own)
		__atomic_store_n(&has_own_steps, 1, __ATOMIC_RELAXED);
	else if (step_is_known())
		return;
	entry_heed();
}

/* Once per session and method; before the step, not in its time. */
static void phases_note_method(const char *method, const void *code)
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
	note_once("steps", "%s", method);
	if (code)
		notes_library(strstr(method, "whisper") ? "whisper.library" : "llama.library",
			(uintptr_t)code);
}

void step_refuted(int32_t context, uint32_t drafts)
{
	static uint32_t counters[2];

	if (context)
		step_counter_set(&counters[0], BRICK_CONTEXT_NAME, context);
	if (drafts)
		step_counter_set(&counters[1], BRICK_REFUTED_NAME, drafts);
}

/*
 * Each step is looked at until STEPS_LOOKED_AT in a row had nothing to tell, and then each eighth,
 * as a look takes a microsecond.
 */
enum { STEPS_LOOKED_AT = 8 };
static uint32_t to_look_at = STEPS_LOOKED_AT; /* further steps in a row to be looked at */
static uint32_t steps_passed;		      /* without a look */
static __thread struct step_reading before_step __attribute__((tls_model("initial-exec")));

static bool step_is_looked_at(void)
{
	return BRICK_UNLIKELY(__atomic_load_n(&to_look_at, __ATOMIC_RELAXED)) ||
	       !(__atomic_fetch_add(&steps_passed, 1, __ATOMIC_RELAXED) % STEPS_LOOKED_AT);
}

void step_begin(struct phase_scope *scope, const struct phase_tokens *tokens, const char *method,
	const void *code, const void *frame)
{
	*scope = (struct phase_scope){0, 0, 0};
	if (!brick_enabled() || phase_in_step(frame))
		return;
	__atomic_store_n(&has_own_steps, 1, __ATOMIC_RELAXED);
	phases_note_method(method, code);
	int32_t repeated =
		tokens->batch ? prompt_memory_repeated(tokens->context, tokens->batch) : -1;
	before_step = step_is_looked_at() ? step_reading_now() : (struct step_reading){0};
	phase_step_begin(scope, tokens, frame);
	if (!scope->depth)
		return;
	/* These counters are 0 in most programs, so 0 is not recorded. */
	static uint32_t repeats, switches, checks, drafters;
	if (repeated >= 0)
		step_counter_set(&repeats, BRICK_REPEATED_NAME, repeated);
	if (tokens->switched >= 0 && tokens->batch)
		step_counter_set(&switches, BRICK_SEQUENCE_NAME, tokens->switched);
	if (tokens->checked)
		step_counter_set(&checks, BRICK_CHECKED_NAME, tokens->checked);
	if (tokens->checked && tokens->drafter >= 0)
		step_counter_set(&drafters, BRICK_DRAFTER_NAME, tokens->drafter);
	step_refuted(tokens->number, tokens->refuted);
	if (tokens->sequences && !tokens->warm_up)
		sequences_tell_step(
			tokens->sequences, sequences_model(tokens->number), tokens->is_encoder);
}

void step_end_graph(struct phase_scope *scope)
{
	bool is_counted = scope->depth && brick_enabled();

	if (is_counted)
		engine_buffers_tell();
	phase_end(scope);
	if (is_counted)
		engine_buffers_look();
}

void step_end(struct phase_scope *scope, const struct phase_tokens *tokens, int32_t status)
{
	/* llama_decode() returns 1 or -1 before it evaluates; 2: aborted; less than -1: failed. */
	int began = status == 2 || status < -1;
	static uint32_t ends[2];
	bool is_counted = scope->depth && brick_enabled();

	if (status && is_counted)
		step_counter_set(&ends[began], began ? BRICK_ABORTED_NAME : BRICK_REFUSED_NAME,
			(double)tokens->prompt + tokens->output);
	step_end_graph(scope);
	if (BRICK_LIKELY(!before_step.is_valid) || !is_counted)
		return;
	/*
	 * After the step: where a time slice is used up, the kernel takes the CPU away at a system
	 * call, and the step would be the longer for ours.
	 */
	const struct step_reading now = step_reading_now(), before = before_step;
	before_step.is_valid = false;
	uint32_t left = __atomic_load_n(&to_look_at, __ATOMIC_RELAXED);
	bool tells = step_reading_tell(&before, &now);
	__atomic_store_n(&to_look_at,
		tells  ? STEPS_LOOKED_AT
		: left ? left - 1
		       : 0,
		__ATOMIC_RELAXED);
}

void step_begin_graph(
	struct phase_scope *scope, const struct phase_tokens *tokens, const void *frame)
{
	static const struct phase_tokens unknown = {0};

	*scope = (struct phase_scope){0, 0, 0};
	if (!brick_enabled() || __atomic_load_n(&has_own_steps, __ATOMIC_RELAXED) ||
		phase_in_step(frame))
		return;
	phases_note_method(
		tokens ? "one per graph: of llama.cpp, whose tokens its tensors tell"
		       : "one per graph: this engine has no steps that are known; tokens unknown",
		NULL);
	/* Just above the phase that the same hook is going to begin. */
	phase_step_begin(scope, tokens ? tokens : &unknown, (const char *)frame + 1);
}

bool step_is_outside(const void *frame)
{
	return brick_enabled() && !phase_in_step(frame);
}

bool step_is_known(void)
{
	return __atomic_load_n(&has_own_steps, __ATOMIC_RELAXED);
}
