/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps, and phases: the engine's work around its nodes, as bricks of category Engine. Calls of
 * llama_decode() and llama_encode() are steps; in engines without these, every graph that is
 * computed on its own is a step. Phases form a stack per thread, beside the library's own; a phase
 * directly inside of a phase with the same brick is folded into it. If a function is left by an
 * exception or longjmp(), the next phase on its thread closes the function's phases, as their
 * frames are gone. A new phase also goes into phases_register_bricks(). Owner thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/probe.h"

enum phase {
	PHASE_BATCH_PREPARE, /* a batch is checked and split, room for outputs is made */
	PHASE_KV_PREPARE,    /* cells of the KV cache are found, reserved and given back */
	PHASE_UBATCH,	     /* around the other phases of one micro-batch */
	PHASE_GRAPH_BUILD,   /* a graph is built, or found to be reusable */
	PHASE_GRAPH_ALLOC,   /* its tensors get memory, it is split over backends */
	PHASE_GRAPH_PLAN,    /* threads and work memory of a graph are settled */
	PHASE_GRAPH_COMPUTE, /* around all nodes of a graph */
	PHASE_FORWARD,	     /* the nodes of a training step (training.h) */
	PHASE_BACKWARD,
	PHASE_OPTIMIZER,
	PHASE_THREAD_START, /* from the call for a graph to its first node, with several threads */
	PHASE_THREAD_JOIN,  /* from its last barrier to the return */
	PHASE_RECORD_COMMANDS, /* a device's backend records or launches a node's kernels */
	PHASE_SPLIT_COPY,      /* one backend's results are copied to another backend */
	PHASE_INPUT_COPY,
	PHASE_OUTPUT_COPY,
	PHASE_SYNCHRONIZE, /* waiting for a backend */
	PHASE_SAMPLING,
	PHASE_TOKEN_ACCEPT, /* samplers are told of a token: a sampled one, or one of a prompt */
	PHASE_MODEL_OPEN,   /* a model's file is opened, and its head read */
	PHASE_MODEL_MAP,
	PHASE_MODEL_READ,
	PHASE_MODEL_LOCK, /* pages are kept in memory: mlock() */
	PHASE_STATE_LOAD, /* a saved state replaces the state of a context or a sequence */
	PHASE_STATE_SAVE, /* the state of a context or a sequence is saved */
	PHASE_LOOKUP,	  /* Brick itself: a graph that was built anew is recognised or looked up */
	PHASE_SPLIT,	  /* Brick itself: a node without work, computed alone (callback.c) */
	PHASE_PLAIN,	  /* a step that is recorded in one piece (ggml_plain_steps.h) */
	PHASE_COUNT,
};

/* A phase, on the stack of the hook that began it, for phase_end(). */
struct phase_scope {
	uint32_t depth;	     /* of the thread's stack with this phase on it; 0: nothing to end */
	uint64_t hook_ticks; /* cost of phase_begin(), if timed */
	uint8_t timed;	     /* 1: this hook's cost is measured */
};

/* The brick of a phase. Registers those that are not built in, once. */
uint16_t phase_brick(enum phase phase);

/*
 * Registers `count` names as bricks around graphs. For NULL, or without room for a name, the brick
 * is that of PHASE_GRAPH_COMPUTE.
 */
void phase_graph_bricks(uint16_t *bricks, const char *const *names, int count);

/*
 * Begin a phase on this thread; every phase_begin() needs a phase_end(), also if it recorded
 * nothing. frame: an address in the hook's frame; it must be below the frames of all phases around
 * it.
 */
void phase_begin(struct phase_scope *scope, enum phase phase, const void *frame);
void phase_begin_brick(struct phase_scope *scope, uint16_t brick, const void *frame);

struct batch_head;

/* The batch of a step; filled by contexts_count(), sent_batch_read() or a hook. */
struct phase_tokens {
	uint32_t prompt, output;	/* tokens; both 0: not known */
	bool warm_up;			/* nobody needs its results */
	const struct batch_head *batch; /* NULL: not known */
	const void *context;		/* that evaluates it; NULL: not known */
	int32_t number;			/* of the context, from 0; -1: not known */
	uint32_t checked, refuted;	/* see struct batch_tokens */
	int32_t drafter;  /* number of the context that made the checked drafts; -1: not known */
	int32_t switched; /* sequence of a lone token after another sequence's; else -1 */
	const struct batch_sequences *sequences; /* NULL: not known */
	bool is_encoder;			 /* all tokens are a prompt */
};
void phase_step_begin(
	struct phase_scope *scope, const struct phase_tokens *tokens, const void *frame);
void phase_end(struct phase_scope *scope);

/* While muted, this thread records no phases: they are a part of a node, or of a plain step. */
void phase_mute(bool muted);
bool phase_is_muted(void);

/* Is a step open on this thread? Closes phases whose frames are gone, by the caller's frame. */
bool phase_in_step(const void *frame);

/* In the child of a fork: drop the parent's open phases without recording them. */
void phase_forget(void);

/*
 * Begin a step, unless a step is open on this thread; then step_end() does nothing. For the notes:
 * method, a constant that tells how the step was noticed, and code, the function of llama.cpp that
 * is the step, or NULL.
 */
void step_begin(struct phase_scope *scope, const struct phase_tokens *tokens, const char *method,
	const void *code, const void *frame);

/* status: of llama_decode(); not 0 if the engine did not evaluate the whole batch. */
void step_end(struct phase_scope *scope, const struct phase_tokens *tokens, int32_t status);

/* Count drafts that the context with this number had checked and that were not accepted. */
void step_refuted(int32_t context, uint32_t drafts);

/*
 * Begin a step for a graph, unless step_is_known() or a step is open. tokens: NULL if not known.
 */
void step_begin_graph(
	struct phase_scope *scope, const struct phase_tokens *tokens, const void *frame);
void step_end_graph(struct phase_scope *scope);

/* Is a session on, and no step open on this thread? */
bool step_is_outside(const void *frame);

/* Was a step's own function called in this process? Then graphs alone are no steps. */
bool step_is_known(void);

/*
 * Recording is switched where a step begins (brick_recorder_heed()): is_own: by its own function;
 * else by a graph, unless step_is_known(). Outside of steps.
 */
void step_switch(bool is_own);
