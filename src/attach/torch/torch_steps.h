/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of PyTorch. Without gradients, one call of an outermost module is a step. In training, a
 * step begins with such a call and ends with the optimizer's step; inside are Forward, Backward and
 * OptimizerStep. Owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_thread.h"

/* Facts about a call of an outermost module. */
struct torch_call {
	const void *module;
	uint32_t number;  /* of the module, by its first such call; never given to another module */
	bool is_training; /* gradients are recorded, and the program seems to use them */
	bool is_in_training; /* so is the module's mode */
	bool has_optimizer;  /* the program has made an optimizer */
	bool has_gradients;  /* autograd records */
	bool is_decode;	     /* the call makes new tokens, or checks drafted tokens */
	uint64_t tokens;     /* without padding; 0: none, or not known */
	uint64_t outputs;    /* of tokens, if their batch has prompts, too; 0: it has not */
	uint64_t padding;    /* masked tokens */
	bool has_requests;   /* the batch of torch_batch_take() */
	bool has_threads;    /* Python has others than the caller */
	uint64_t repeated;   /* tokens that are computed again, because the model has no cache */
	uint64_t guidance;   /* tokens of a decoding call that adds nothing to the answer */
};

/* The open bricks of a call; 0: none. */
struct torch_forward {
	brick_span step, span;
};

struct torch_forward torch_forward_begin(struct torch_thread *t, const struct torch_call *call);
void torch_forward_end(struct torch_thread *t, const struct torch_forward *forward);

/*
 * An optimizer's step is over, and with it the training step, unless the step before had steps of
 * more optimizers.
 */
void torch_optimizer_end(struct torch_thread *t);

/* The brick of a phase, of category Engine; *brick, 0 at first, keeps it. */
uint32_t torch_engine_brick(int *brick, const char *name);

/* True if this process has computed gradients. */
bool torch_saw_backward(void);

/* The operator that was open when a backward pass called a module, which computes its forward pass
 * again. */
struct torch_recomputed {
	brick_span span; /* 0: none is open */
	uint32_t node, leaf;
	const struct named_site *leaf_site;
	brick_span leaf_span;
	struct torch_work leaf_work;
};

/* Checkpointing: operators of the module are bricks of their own, inside of Recomputation. */
void torch_recomputation_begin(struct torch_thread *t, struct torch_recomputed *outer);
void torch_recomputation_end(struct torch_thread *t, const struct torch_recomputed *outer);
