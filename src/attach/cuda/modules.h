/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU code that the program has loaded: the hash of the module that defines a kernel, and the
 * text of modules that were loaded as PTX. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The program gives this image to the driver: keep it if it is PTX. Returns its hash; 0: no PTX. */
uint64_t modules_source(const void *image);

/* A module was loaded. source: hash of the PTX that it was made of; 0: none. */
void modules_loaded(uint32_t id, const void *cubin, size_t bytes, uint64_t source);
void modules_unloading(uint32_t id);

/* Hash of the code of a kernel; 0: not known, or two modules with different code have that name. */
uint64_t modules_code(const char *kernel);

/* Changes whenever a result of modules_code() may change. */
uint32_t modules_generation(void);

/* Names of the functions in a cubin: an ELF file with a section ".text.NAME" for each. */

typedef void (*cubin_name_fn)(void *context, const char *name);

/* Call `found` for each name; returns how many. 0 for anything that is no such file. */
int cubin_names(const void *cubin, size_t bytes, cubin_name_fn found, void *context);
