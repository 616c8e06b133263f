/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the path and class of the Python module that runs an operator: the interpreter's call of
 * torch.nn.Module.__call__ leads through a function of ours.
 */
#pragma once

#include <stdbool.h>

enum torch_modules_state {
	TORCH_MODULES_UNSEEN, /* not looked for yet, or torch.nn was not loaded */
	TORCH_MODULES_ASKED,  /* a pending call of Python's will put the function in place */
	TORCH_MODULES_SETTLED /* the function is in place, or cannot be */
};

extern int torch_modules_state __attribute__((visibility("hidden")));

/* Put the function in place now, or take it away and forget all modules. With the GIL held. */
void torch_modules_place(void);
void torch_modules_take_away(void);

/* Ask Python's main thread to put the function in place, at its next safe point. */
void torch_modules_ask(void);

/* Any thread, with or without the GIL, as often as operators run. */
static inline void torch_modules_ready(void)
{
	if (__atomic_load_n(&torch_modules_state, __ATOMIC_RELAXED) == TORCH_MODULES_UNSEEN)
		torch_modules_ask();
}
