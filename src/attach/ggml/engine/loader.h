/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic linker's own dlopen() and dlclose(), which Brick's hooks stand in front of, and its
 * tables of each loaded object. Any thread; the tables are valid while the object is loaded.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address of the dynamic linker's dlopen(); NULL before loader_ready(). */
extern void *loader_real_dlopen;
void loader_ready(void);

void *loader_open(const char *path, int flags);
int loader_close(void *handle);

/* The tables of PT_DYNAMIC; a table that the object lacks is NULL. */
struct loader_tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;		   /* DT_GNU_HASH */
	const ElfW(Rela) * relocations[2]; /* DT_JMPREL, DT_RELA */
	size_t bytes[2];		   /* of either */
};

/* False: the object has no symbols. */
bool loader_tables_read(struct loader_tables *tables, const struct dl_phdr_info *info);

/*
 * For each relocation that needs a symbol: the slot that it fills, and the symbol. A visit that
 * returns other than 0 ends the walk, which returns that.
 */
typedef int (*loader_visit_fn)(void *context, uintptr_t *slot, const ElfW(Sym) * symbol);
int loader_each_slot(const struct loader_tables *tables, const struct dl_phdr_info *info,
	loader_visit_fn visit, void *context);
