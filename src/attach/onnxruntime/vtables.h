/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds virtual functions of C++ classes in a loaded library by run-time type information (Itanium
 * C++ ABI), and replaces them in place. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vtables;

/*
 * Find all vtables of classes derived from the class with the mangled name `base`
 * ("N11onnxruntime8OpKernelE"). library: an address in it. 0; -ENOENT: it has none; -ENOMEM.
 */
int vtables_find(struct vtables **out, const void *library, const char *base);
void vtables_destroy(struct vtables *vtables); /* NULL is legal */
uint32_t vtables_count(const struct vtables *vtables);

/*
 * For entry `index` of each vtable, call `visit` with the vtable's address (as objects hold it),
 * the present function, and whether that is the library's own: a pure virtual function is not. Put
 * what it returns there; NULL: nothing. Returns the number of replaced entries, or -errno. Other
 * threads may call the functions meanwhile.
 */
typedef const void *(*vtable_visit_fn)(const void *vtable, void *present, bool is_own);
int vtables_replace(const struct vtables *vtables, uint32_t index, vtable_visit_fn visit);

/*
 * Put functions[i] into *slots[i], words in read-only data of one library. 0; -ENOENT: a slot lies
 * elsewhere, and nothing was changed; or -errno.
 */
int constants_replace(void **const slots[], const void *const functions[], uint32_t count);

/* The mangled name of an object's class, by its vtable. */
const char *vtable_class(const void *vtable);
