/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps. Without gradients, one call of an outermost module is a step. In training, a step begins
 * with such a call and ends with the optimizer's step; Forward, Backward and OptimizerStep lie in
 * it. Each thread for itself.
 */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_thread.h"

/* Facts about a call of an outermost module. */
struct torch_call {
	const void *module;
	bool is_training; /* gradients are recorded and somebody means to use them */
	bool is_decode;	  /* new tokens are made, or drafted ones checked */
	uint64_t tokens;  /* without padding; 0: it takes none, or it is not known */
	uint64_t padding; /* tokens that are masked */
};

struct torch_forward {
	brick_span step, span;
};

struct torch_forward torch_forward_begin(struct torch_thread *t, const struct torch_call *call);
void torch_forward_end(const struct torch_forward *forward);

/* The optimizer is done. */
void torch_optimizer_end(struct torch_thread *t);

/* True if this process has computed gradients. */
bool torch_saw_backward(void);
