/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the tokens that a call of an outermost module evaluates, and tells whether it makes new
 * tokens, from the shapes of its arguments. With the GIL held.
 */
#pragma once

#include "attach/torch/torch_python.h"
#include "attach/torch/torch_steps.h"
#include "attach/torch/torch_thread.h"

/* Arguments of a call: `count` by position, then one value per name of `names`, a tuple or NULL. */
struct torch_arguments {
	python_object *const *values;
	size_t count;
	python_object *names;
};

/* Set the call's tokens, padding, and is_decode; module and is_training must be set before. */
void torch_tokens_count(
	struct torch_thread *t, const struct torch_arguments *arguments, struct torch_call *call);
