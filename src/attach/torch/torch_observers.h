/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks at PyTorch's observers of operators (ATen/record_function.h). Each kind of scope has
 * its own pair, so that only the layout of the registration must be known.
 */
#pragma once

#include <stddef.h>

/*
 * Prove the interface, on a new thread that alone observes. Once it was proved it is. 0; negative:
 * operators cannot be observed; `why` tells it.
 */
int torch_observers_prove(char *why, size_t bytes);

/*
 * Register what was proved, and take it back. Before PyTorch 1.13 no other thread may run operators
 * meanwhile. An operator that runs when it is taken back still tells us its end.
 */
void torch_observers_start(void);
void torch_observers_stop(void);
