/* SPDX-License-Identifier: Apache-2.0 */
/* The PyTorch that the program has loaded: at most one in a process. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Set the library's handle; once, and it must stay open. */
void torch_library_set(void *handle);
bool torch_library_known(void);

/* The version of a libtorch_cpu.so ("1.13", "2.5.1+cpu"); "": unknown. */
void torch_library_version(const char *path, char *version, size_t bytes);

/* Find a function of libtorch_cpu.so. function: address of a pointer to it, set to NULL if absent.
 */
void torch_library_symbol(const char *name, void *function);

/* The same for a function that `ours` stands in front of, in any loaded object. */
void torch_library_next(const char *name, const void *ours, void *function);

/* True after torch_observed_set(): the interface was proved, and operators are observed. */
bool torch_observed(void);
void torch_observed_set(bool is);
