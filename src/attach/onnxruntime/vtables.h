/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds virtual functions of C++ classes in a loaded library by run-time type information (Itanium
 * C++ ABI), and replaces them in place. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct vtables;

/*
 * Find all vtables of classes derived from the class with the mangled name `base`
 * ("N11onnxruntime8OpKernelE"). library: an address in it. 0; -ENOENT: it has none; -ENOMEM.
 */
int vtables_find(struct vtables **out, const void *library, const char *base);
void vtables_destroy(struct vtables *vtables);
uint32_t vtables_count(const struct vtables *vtables);

/*
 * Put `function` into entry `index` of each vtable. Before each, call `visit` with the vtable's
 * address (as objects hold it), the former function, and the class's mangled name. Entries that
 * lead out of the library (pure virtual functions) are left. Returns the number of replaced
 * entries, or -errno.
 */
typedef void (*vtable_visit_fn)(const void *vtable, void *former, const char *name);
int vtables_replace(
	const struct vtables *vtables, uint32_t index, const void *function, vtable_visit_fn visit);

/*
 * Put functions[i] into *slots[i], words in read-only data of one library. 0; -ENOENT: a slot lies
 * elsewhere, and nothing was changed; or -errno.
 */
int constants_replace(void **const slots[], const void *const functions[], uint32_t count);

/* The mangled name of an object's class, by its vtable. */
const char *vtable_class(const void *vtable);
