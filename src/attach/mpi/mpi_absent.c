/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that works with and without MPI, or with and without MPI-4, may ask by weak symbols
 * what is there. Brick's functions are taken out of the slots of such symbols where the library has
 * none of that name, so that they are 0, as without Brick: before the program begins, and when MPI
 * does, for those that were loaded in between (mpi4py).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "attach/mpi/mpi_absent.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "attach/common/loaded_tables.h"
#include "attach/common/object.h"
#include "base/array.h"
#include "base/scope.h"
#include "lib/sys/elf.h"

struct absent_slot {
	struct loaded_tables tables;
	uintptr_t *at;
	const char *name;
};

struct absent_search {
	struct loaded_object ours;
	ARRAY(struct absent_slot) slots;
};

static int absent_slot(void *argument, const struct loaded_tables *tables, uintptr_t *slot,
	const ElfW(Rela) * relocation)
{
	struct absent_search *search = argument;
	uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
	const ElfW(Sym) *symbol = loaded_symbol(tables, relocation);
	const char *name = loaded_name(tables, relocation);

	if ((type != SYS_ELF_GLOB_DAT && type != SYS_ELF_ADDRESS) || relocation->r_addend ||
		symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) != STB_WEAK ||
		(strncmp(name, "MPI", 3) != 0 && strncmp(name, "PMPI", 4) != 0) ||
		*slot - search->ours.low >= search->ours.bytes)
		return 0;
	return array_push(&search->slots, (struct absent_slot){*tables, slot, name});
}

static int absent_look(struct dl_phdr_info *info, size_t bytes, void *search)
{
	struct loaded_tables tables;

	return loaded_tables_read(&tables, info) ? loaded_each_slot(&tables, absent_slot, search)
						 : 0;
}

/* The library that has the function, to be closed; NULL: not known. */
static void *absent_library(const void *function)
{
	Dl_info info;

	return dladdr(function, &info) && info.dli_fname
		       ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
		       : NULL;
}

void mpi_absent_clear(const void *own_init)
{
	struct absent_search search = {.slots = {0}};
	KEEP_ERRNO();

	if (SYS_ELF_GLOB_DAT == 0 || !object_at((uintptr_t)own_init, &search.ours))
		return;
	dl_iterate_phdr(absent_look, &search);
	const void *init = search.slots.count ? object_symbol("PMPI_Init", own_init) : NULL;
	void *library = init ? absent_library(init) : NULL;
	for (size_t i = 0; i < search.slots.count && (library || !init); i++) {
		const struct absent_slot *slot = &search.slots.items[i];
		if (!library || !dlsym(library, slot->name))
			loaded_slot_store(&slot->tables, slot->at, 0);
	}
	if (library)
		dlclose(library);
	dlerror();
	array_fini(&search.slots);
}
