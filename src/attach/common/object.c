/* SPDX-License-Identifier: Apache-2.0 */
/* An object reaches from its lowest to its highest segment. */
#include "attach/common/object.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/scope.h"

struct object_search {
	uintptr_t address;
	struct loaded_object *object;
};

/* Lowest and highest address of an object's segments. */
static void extent(const struct dl_phdr_info *info, uintptr_t *low, uintptr_t *high)
{
	*low = UINTPTR_MAX;
	*high = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD)
			continue;
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;
		*low = begin < *low ? begin : *low;
		*high = begin + p->p_memsz > *high ? begin + p->p_memsz : *high;
	}
}

void object_describe(struct loaded_object *object, const struct dl_phdr_info *info)
{
	uintptr_t low, high;

	extent(info, &low, &high);
	object->low = low;
	object->bytes = high - low;
	snprintf(object->path, sizeof(object->path), "%s", info->dlpi_name);
}

static int contains(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct object_search *search = argument;
	uintptr_t low, high;

	extent(info, &low, &high);
	if (search->address < low || search->address >= high)
		return 0;
	object_describe(search->object, info);
	return 1;
}

int object_at(uintptr_t address, struct loaded_object *object)
{
	struct object_search search = {address, object};

	return dl_iterate_phdr(contains, &search);
}

static int add_object(struct dl_phdr_info *info, size_t bytes, void *list)
{
	struct loaded_object object;

	object_describe(&object, info);
	return array_push(&((struct object_list *)list)->of, object);
}

int objects_list(struct object_list *list)
{
	return dl_iterate_phdr(add_object, list);
}

void *object_symbol(const char *name, const void *ours)
{
	struct object_list list = {0}; /* the dynamic linker may not be called while it iterates */
	void *found = NULL;
	KEEP_ERRNO();

	objects_list(&list);
	for (size_t i = 0; i < list.of.count && (!found || found == ours); i++) {
		if (!strchr(list.of.items[i].path, '/'))
			continue;
		void *handle = dlopen(list.of.items[i].path, RTLD_LAZY | RTLD_NOLOAD);
		found = handle ? dlsym(handle, name) : NULL;
		if (handle)
			dlclose(handle);
	}
	array_fini(&list.of);
	dlerror();
	return found == ours ? NULL : found;
}

static int count_changes(struct dl_phdr_info *info, size_t bytes, void *changes)
{
	*(struct object_changes *)changes =
		(struct object_changes){info->dlpi_adds, info->dlpi_subs};
	return 1; /* the first entry tells it all */
}

struct object_changes object_changes(void)
{
	struct object_changes changes = {0, 0};

	dl_iterate_phdr(count_changes, &changes);
	return changes;
}
