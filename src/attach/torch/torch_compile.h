/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.compile's compilations as bricks. A brick names its compilation ("0/1" is the second of the
 * first function, a recompilation). A graph break is a brick without length that tells where and
 * why. Operators that run during a compilation are a part of it. State: owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_thread.h"

/* Number of the compilation that is open in the process; 0: none. Atomic. */
extern unsigned torch_compile_open __attribute__((visibility("hidden")));

/* Look for TorchDynamo until it is found. With the GIL held. */
void torch_compile_look(void);

/* Take our functions out of TorchDynamo's lists. With the GIL held. */
void torch_compile_take_away(void);

/* An operator begins; an operator of TorchDynamo's starts the search. With or without the GIL. */
void torch_compile_see(const char *operation);

/* Close this thread's compilation, which has ended. */
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
