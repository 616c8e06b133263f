/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that PyTorch's allocators give: how much is alive, and was at most, of each kind and for
 * each operator of a module. Kinds are told by when a block is asked for and how long it lives:
 *
 *   weights      parameters and buffers of a module that the program calls, by their addresses
 *   gradients    asked for in a backward pass
 *   optimizer    asked for in an optimizer's step
 *   activations  asked for in a forward pass, or elsewhere in a step of training
 *   cache        activations of a layer, without gradients, that outlive their forward pass
 *   workspace    freed before the operator ends that asked for it; also a part of the kinds above
 *   other        all else: inputs, weights of a module that was not called yet
 *
 * Blocks are counted by any thread, without locks. Other functions: owner thread.
 */
#pragma once

#include "attach/torch/torch_python.h"
#include "attach/torch/torch_thread.h"

/* A forward pass begins and ends. has_gradients: its results keep activations alive. */
void torch_memory_forward_begin(struct torch_thread *t, bool has_gradients);
void torch_memory_forward_end(struct torch_thread *t);

/* The outermost operator begins, and ends with the workspace that it had. */
static inline void torch_memory_operator_begin(struct torch_thread *t)
{
	t->more->memory.operator_first = t->more->memory.serial;
	t->more->memory.operator_live = t->more->memory.operator_peak = 0;
}

void torch_memory_workspace(struct torch_thread *t);

static inline void torch_memory_operator_end(struct torch_thread *t)
{
	if (t->more->memory.operator_peak > t->more->memory.operator_live)
		torch_memory_workspace(t);
}

/* A step is about to end: record what has changed. */
void torch_memory_step_end(struct torch_thread *t);

/* Find a called module's weights among the blocks. With the GIL held. */
void torch_memory_see_weights(python_object *module);

/* Gives the ledger's memory back. No thread is in a hook, and no block is known any more. */
void torch_memory_forget(void);
