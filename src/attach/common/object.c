/* SPDX-License-Identifier: Apache-2.0 */
/* An object reaches from its lowest to its highest segment. */
#include "attach/common/object.h"

#include <stdio.h>

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
