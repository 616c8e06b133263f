/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded objects, as the dynamic linker tells of them. Any thread. */
#pragma once

#include <link.h>
#include <stdint.h>
#include "base/array.h"

struct loaded_object {
	uintptr_t low, bytes;
	char path[512]; /* "" is the program itself */
};

void object_describe(struct loaded_object *object, const struct dl_phdr_info *info);

/* The object that an address lies in; 0 if there is none. */
int object_at(uintptr_t address, struct loaded_object *object);

struct object_list {
	ARRAY(struct loaded_object) of;
};

/* Adds all objects that are loaded now. 0, or -ENOMEM. */
int objects_list(struct object_list *list);

/*
 * The definition of a symbol other than `ours`, in whatever object has one: also in those that were
 * loaded RTLD_LOCAL, where RTLD_NEXT does not look. NULL: there is none. errno is kept.
 */
void *object_symbol(const char *name, const void *ours);

/* The numbers of objects that were loaded and unloaded since the process began. */
struct object_changes {
	unsigned long long loads, unloads;
};
struct object_changes object_changes(void);
