/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded objects, as the dynamic linker tells of them. Any thread. */
#pragma once

#include <link.h>
#include <stdint.h>

struct loaded_object {
	uintptr_t low, bytes;
	char path[512]; /* "" is the program itself */
};

void object_describe(struct loaded_object *object, const struct dl_phdr_info *info);

/* The object that an address lies in; 0 if there is none. */
int object_at(uintptr_t address, struct loaded_object *object);

/* How many objects have been loaded and unloaded since the process began. */
struct object_changes {
	unsigned long long loads, unloads;
};
struct object_changes object_changes(void);
