/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the functions in a cubin: an ELF file with a section ".text.NAME" for each. */
#pragma once

#include <stddef.h>

typedef void (*cubin_name_fn)(void *context, const char *name);

/* Calls back for each; returns how many. Anything that is no such file has none. */
int cubin_names(const void *cubin, size_t bytes, cubin_name_fn found, void *context);
