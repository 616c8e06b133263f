/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's observers of operators (ATen/record_function.h). One pair of callbacks for each kind of
 * scope, so that no layout but that of the registration must be known.
 */
#pragma once

#include <stddef.h>

/*
 * Prove the interface on a thread of our own and register. No other thread may run operators: right
 * after the library was loaded. 0; negative: not observed, and why.
 */
int torch_observers_register(char *why, size_t bytes);
