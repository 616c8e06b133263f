/* SPDX-License-Identifier: Apache-2.0 */
/* The PyTorch that the program has loaded: at most one in a process. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Keeps the library's handle, which stays. */
void torch_library_set(void *handle);
bool torch_library_known(void);

/* The version of a libtorch_cpu.so ("1.13", "2.5.1+cpu"); "": unknown. */
void torch_library_version(const char *path, char *version, size_t bytes);

/* A function of libtorch_cpu.so into a pointer to a function; NULL: it has none. */
void torch_library_symbol(const char *name, void *function);

/* The same, wherever PyTorch is, for a function that we stand in front of. */
void torch_library_next(const char *name, const void *ours, void *function);

/* True if its operators are observed: the interface was proved. */
bool torch_observed(void);
void torch_observed_set(void);
