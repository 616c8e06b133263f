/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch.compile does before it runs: each compilation is a brick that says which one it is
 * ("0/1": the second of the first function, a recompilation), and each graph break another, without
 * length, that says where and why. Operators that run meanwhile are a part of the compilation.
 */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_thread.h"

extern unsigned torch_compile_open __attribute__((visibility("hidden")));

/* Looks for TorchDynamo, until it is found. With the GIL held. */
void torch_compile_look(void);

/* An operator begins: TorchDynamo's first one has us look for it. With the GIL or not. */
void torch_compile_see(const char *operation);

void torch_compile_leave(struct torch_thread *t);

/* True while this thread compiles. */
static inline bool torch_compiles(struct torch_thread *t)
{
	if (__builtin_expect(!t->more->compiling, 1))
		return false;
	if (t->more->compiling == __atomic_load_n(&torch_compile_open, __ATOMIC_RELAXED))
		return true;
	torch_compile_leave(t); /* another thread was the last one to end */
	return false;
}
