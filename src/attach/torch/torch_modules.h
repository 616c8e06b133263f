/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of Python by name. The interpreter's way into torch.nn.Module.__call__ passes by us, so
 * that operators know the path and class of the module that runs them.
 */
#pragma once

#include <stdbool.h>

enum torch_modules_state {
	TORCH_MODULES_UNSEEN, /* not yet looked for, or torch.nn was not there */
	TORCH_MODULES_ASKED,  /* Python will call us */
	TORCH_MODULES_SETTLED /* seen from now on, or never */
};

extern int torch_modules_state __attribute__((visibility("hidden")));

/* Have Python's main thread put the function in place, at its next safe point. */
void torch_modules_ask(void);

/* Any thread, with or without the GIL, as often as operators run. */
static inline void torch_modules_ready(void)
{
	if (__atomic_load_n(&torch_modules_state, __ATOMIC_RELAXED) == TORCH_MODULES_UNSEEN)
		torch_modules_ask();
}
