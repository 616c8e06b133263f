/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps, and what the engine does around its nodes, as bricks of category Engine. Calls of
 * llama_decode() and llama_encode() are steps; in engines without them every graph that is computed
 * on its own is one. Phases form a stack per thread, beside the library's own: a phase inside of
 * one of the same brick is folded into it. A phase that was left by an exception or longjmp() is
 * closed by the next phase on its thread, which notices that the frame of the function that opened
 * it is gone. Any thread, each for itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/probe.h"

enum phase {
	PHASE_BATCH_PREPARE, /* a batch is checked and split, room for outputs is made */
	PHASE_KV_PREPARE,    /* cells of the KV cache are found, reserved and given back */
	PHASE_UBATCH,	     /* what drives the others for one micro-batch */
	PHASE_GRAPH_BUILD,   /* a graph is built, or found to be reusable */
	PHASE_GRAPH_ALLOC,   /* its tensors get memory, it is split over backends */
	PHASE_GRAPH_PLAN,    /* threads and work memory of a graph are settled */
	PHASE_GRAPH_COMPUTE, /* around all nodes of a graph */
	PHASE_FORWARD,	     /* the nodes of a training step (training.h) */
	PHASE_BACKWARD,
	PHASE_OPTIMIZER,
	PHASE_THREAD_START, /* from the call for a graph to its first node, with several threads */
	PHASE_THREAD_JOIN,  /* from its last barrier to the return */
	PHASE_RECORD_COMMANDS, /* a device's backend records or launches what a node takes */
	PHASE_SPLIT_COPY,      /* what one backend computed is copied to another */
	PHASE_INPUT_COPY,
	PHASE_OUTPUT_COPY,
	PHASE_SYNCHRONIZE, /* waiting for a backend */
	PHASE_SAMPLING,
	PHASE_TOKEN_ACCEPT, /* samplers are told of a token: a sampled one, or one of a prompt */
	PHASE_STATE_LOAD,   /* what a context or a sequence holds is replaced by a saved state */
	PHASE_STATE_SAVE,   /* ... is saved */
	PHASE_LOOKUP, /* Brick itself: a graph that was built anew is recognised or looked up */
	PHASE_SPLIT,  /* Brick itself: nothing, computed as a graph of its own (callback.c) */
	PHASE_PLAIN,  /* a step that is recorded in one piece (ggml_plain_steps.h) */
	PHASE_COUNT,
};

/* Where a hook keeps what phase_end() needs. */
struct phase_scope {
	uint32_t depth; /* of the stack with this phase on it; 0: there is nothing to end */
	uint64_t hook_ticks;
	uint8_t timed;
};

/* The brick of a phase. Registers those that are not built in, once. */
uint16_t phase_brick(enum phase phase);

/*
 * Registers bricks of what graphs are for, by name. NULL, and a name that there is no room for,
 * stand for PHASE_GRAPH_COMPUTE's.
 */
void phase_graph_bricks(uint16_t *bricks, const char *const *names, int count);

/* `frame`: __builtin_frame_address(0) of the hook. */
void phase_begin(struct phase_scope *scope, enum phase phase, const void *frame);
void phase_begin_brick(struct phase_scope *scope, uint16_t brick, const void *frame);

struct batch_head;

/* What a step evaluates. */
struct phase_tokens {
	uint32_t prompt, output;
	bool warm_up;			/* all of it for nothing */
	const struct batch_head *batch; /* NULL: not known */
	const void *context;		/* that evaluates it */
	int32_t number;			/* of the context, in the order they came; -1: not known */
	uint32_t checked, refuted;	/* see struct batch_tokens */
	int32_t drafter;		/* whose drafts are checked; -1: not known */
	int32_t switched;		/* a lone token of another sequence than before; -1: not */
	const struct batch_sequences *sequences; /* what it has of each; NULL: not known */
	bool is_encoder;			 /* all of it is a prompt */
};
void phase_step_begin(
	struct phase_scope *scope, const struct phase_tokens *tokens, const void *frame);
void phase_end(struct phase_scope *scope);

/* While muted, phases on this thread are not recorded: they belong to a node timed whole. */
void phase_mute(bool muted);
bool phase_is_muted(void);

/* Is a step open on this thread? */
bool phase_in_step(const void *frame);

/* In the child of a fork: what was open here was the parent's. */
void phase_forget(void);

/*
 * Begin a step, unless one is open on this thread: then scope is set so that ending does nothing.
 * method: how it was noticed; code: the function of llama.cpp that is the step. For the notes.
 */
void step_begin(struct phase_scope *scope, const struct phase_tokens *tokens, const char *method,
	const void *code, const void *frame);

/* status: not 0 where the engine would not evaluate the batch. */
void step_end(struct phase_scope *scope, const struct phase_tokens *tokens, int32_t status);

/* Behind a step of the context with that number: so many of the drafts that it checked are gone. */
void step_refuted(int32_t context, uint32_t drafts);

/*
 * The same for a graph that may be one; not in engines whose llama_decode() has been seen. tokens:
 * NULL where they are not known.
 */
void step_begin_graph(
	struct phase_scope *scope, const struct phase_tokens *tokens, const void *frame);

/* Is no step open on this thread? */
bool step_is_outside(const void *frame);

/* Has llama_decode() or its kin been seen, so that other graphs are no steps of themselves? */
bool step_is_known(void);
