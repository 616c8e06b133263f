/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic linker's tables of a loaded object, and the slots that its relocations fill. The
 * tables are valid while the object is loaded: inside of dl_iterate_phdr(). Any thread.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table that the object lacks is NULL. */
struct loaded_tables {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;		   /* DT_GNU_HASH */
	const ElfW(Rela) * relocations[2]; /* DT_JMPREL, DT_RELA */
	size_t bytes[2];		   /* of either */
	uintptr_t sealed, sealed_end;	   /* pages that RELRO makes read-only */
};

/* False: the object has no symbols. */
bool loaded_tables_read(struct loaded_tables *tables, const struct dl_phdr_info *info);

static inline const ElfW(Sym) *
	loaded_symbol(const struct loaded_tables *tables, const ElfW(Rela) * relocation)
{
	return &tables->symbols[ELF64_R_SYM(relocation->r_info)];
}

static inline const char *loaded_name(
	const struct loaded_tables *tables, const ElfW(Rela) * relocation)
{
	return tables->strings + loaded_symbol(tables, relocation)->st_name;
}

/*
 * For each relocation that needs a symbol: the slot that it fills, and the relocation. A visit that
 * returns other than 0 ends the walk, which returns that.
 */
typedef int (*loaded_visit_fn)(void *context, const struct loaded_tables *tables, uintptr_t *slot,
	const ElfW(Rela) * relocation);
int loaded_each_slot(const struct loaded_tables *tables, loaded_visit_fn visit, void *context);

static inline bool loaded_is_sealed(const struct loaded_tables *tables, const uintptr_t *slot)
{
	return (uintptr_t)slot >= tables->sealed && (uintptr_t)slot < tables->sealed_end;
}

/* Changes the slot's page to PROT_READ, or with PROT_WRITE. 0, or -1 with errno. */
int loaded_page_protect(const uintptr_t *slot, int protection);

/* Stores a value in a slot, whose page is as before afterwards. 0; -EPERM: it cannot be written. */
int loaded_slot_store(const struct loaded_tables *tables, uintptr_t *slot, uintptr_t value);
