/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that the program has loaded: which module a kernel of a name comes from, as a hash, and the
 * text of modules that were given as PTX. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The program hands this image to the driver: keep it if it is PTX. Returns its hash or 0. */
uint64_t modules_source(const void *image);

/* A module was loaded: its cubin, and the hash of the source that it was made of, or 0. */
void modules_loaded(uint32_t id, const void *cubin, size_t bytes, uint64_t source);
void modules_unloading(uint32_t id);

/* Hash of the code of a kernel; 0: not known, or two modules with different code have that name. */
uint64_t modules_code(const char *kernel);

/* Changes whenever an answer of modules_code() may. */
uint32_t modules_generation(void);

/* Names of the functions in a cubin: an ELF file with a section ".text.NAME" for each. */

typedef void (*cubin_name_fn)(void *context, const char *name);

/* Calls back for each; returns how many. Anything that is no such file has none. */
int cubin_names(const void *cubin, size_t bytes, cubin_name_fn found, void *context);
