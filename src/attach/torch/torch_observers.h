/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks at PyTorch's observers of operators (ATen/record_function.h). Each kind of scope has
 * its own pair, so that only the layout of the registration must be known.
 */
#pragma once

#include <stddef.h>

/*
 * Prove the interface on a new thread, and register. Call it right after the library was loaded, as
 * no other thread may run operators meanwhile. 0; negative: operators are not observed; `why` tells
 * it.
 */
int torch_observers_register(char *why, size_t bytes);
