/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual functions of C++ classes in a loaded library, found by its run-time type information
 * (Itanium C++ ABI), and replaced in place. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct vtables;

/*
 * All vtables of classes that are derived from one whose mangled name is `base`
 * ("N11onnxruntime8OpKernelE"), in the library at that address. 0; -ENOENT: it has none; -ENOMEM.
 */
int vtables_find(struct vtables **out, const void *library, const char *base);
void vtables_destroy(struct vtables *vtables);
uint32_t vtables_count(const struct vtables *vtables);

/*
 * Put `function` into entry `index` of each, and hand what was there to `visit` before: with the
 * vtable's own address, as objects have it, and the class's mangled name. Entries that lead out of
 * the library (pure virtual functions) are left. The number of entries replaced, or -errno.
 */
typedef void (*vtable_visit_fn)(const void *vtable, void *former, const char *name);
int vtables_replace(
	const struct vtables *vtables, uint32_t index, const void *function, vtable_visit_fn visit);

/*
 * Put functions into words of tables of constants, all of one library. 0; -ENOENT: one of them lies
 * elsewhere, and nothing is changed; or -errno.
 */
int constants_replace(void **const slots[], const void *const functions[], uint32_t count);

/* The mangled name of an object's class, by its vtable. */
const char *vtable_class(const void *vtable);
