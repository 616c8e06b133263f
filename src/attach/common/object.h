/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded objects, as the dynamic linker tells of them. Any thread. */
#pragma once

#include <link.h>
#include <stdint.h>
#include "base/array.h"

struct loaded_object {
	uintptr_t low, bytes; /* the range of its mapped segments */
	char path[512];	      /* "": the program itself; longer paths are cut */
};

void object_describe(struct loaded_object *object, const struct dl_phdr_info *info);

/* Find the object that an address lies in. 1, or 0: there is none. */
int object_at(uintptr_t address, struct loaded_object *object);

struct object_list {
	ARRAY(struct loaded_object) of;
};

/* Add all objects that are loaded now; array_fini(&list->of) frees them. 0, or -ENOMEM. */
int objects_list(struct object_list *list);

/*
 * A definition of a symbol other than `ours` in any loaded object, including objects that were
 * loaded RTLD_LOCAL, which RTLD_NEXT does not search. NULL: there is none. errno is kept.
 */
void *object_symbol(const char *name, const void *ours);

/* The numbers of objects that were loaded and unloaded since the process began. */
struct object_changes {
	unsigned long long loads, unloads;
};
struct object_changes object_changes(void);
