/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many tokens a call of an outermost module evaluates, and whether they are new ones, from the
 * shapes of its arguments. With the GIL held.
 */
#pragma once

#include "attach/torch/torch_python.h"
#include "attach/torch/torch_steps.h"
#include "attach/torch/torch_thread.h"

/* Of a call: `count` by position, and behind them one for each of `names`, a tuple or NULL. */
struct torch_arguments {
	python_object *const *values;
	size_t count;
	python_object *names;
};

/* Sets the call's tokens, padding, and is_decode; its module and is_training are known. */
void torch_tokens_count(
	struct torch_thread *t, const struct torch_arguments *arguments, struct torch_call *call);
