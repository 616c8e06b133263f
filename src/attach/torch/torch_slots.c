/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots are found by the objects' own relocations, of x86-64. The dynamic linker has made pages of
 * some of them read-only (RELRO): these are made so again.
 */
#include "attach/torch/torch_slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "attach/common/loaded_tables.h"
#include "lib/sys/confined.h"

struct slots_search {
	const struct torch_slot *list;
	size_t count;
	struct brick_enter_control *control; /* a recorder is to fill the slots; NULL: we do */
	int filled;			     /* or -errno */
	uintptr_t own_base;
};

static int slots_visit(void *argument, const struct loaded_tables *tables, uintptr_t *slot,
	const ElfW(Rela) * relocation)
{
	struct slots_search *search = argument;
	uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
	const char *name = loaded_name(tables, relocation);
	int set = 0;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) ||
		relocation->r_addend)
		return 0;
	for (size_t k = 0; k < search->count && set == 0; k++) {
		if (strcmp(name, search->list[k].name) != 0)
			continue;
		uintptr_t function = (uintptr_t)search->list[k].function;
		if (search->control)
			entry_add_word(search->control, (uintptr_t)slot, search->list[k].function);
		else
			set = loaded_slot_store(tables, slot, function);
		search->filled = set < 0 ? set : search->filled + 1;
	}
	return set;
}

static int slots_fill_object(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	const struct slots_search *search = argument;
	struct loaded_tables tables;

	(void)bytes;
	if (!loaded_tables_read(&tables, info) || tables.base == search->own_base)
		return 0;
	return loaded_each_slot(&tables, slots_visit, argument);
}

/* Outside of dl_iterate_phdr(): dladdr() takes the dynamic linker's locks in another order. */
static uintptr_t slots_own_base(void)
{
	Dl_info ours;

	return dladdr((const void *)torch_slots_fill, &ours) ? (uintptr_t)ours.dli_fbase : 0;
}

int torch_slots_fill(const struct torch_slot *list, size_t count)
{
	struct slots_search search = {list, count, NULL, 0, slots_own_base()};

	if (brick__sys_is_confined())
		return -EPERM;
	dl_iterate_phdr(slots_fill_object, &search);
	return search.filled;
}

void torch_slots_list(
	const struct torch_slot *list, size_t count, struct brick_enter_control *control)
{
	struct slots_search search = {list, count, control, 0, slots_own_base()};

	dl_iterate_phdr(slots_fill_object, &search);
}
