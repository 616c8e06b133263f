/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic linker as we need it: its own dlopen() and dlclose(), which ours stand in front of,
 * and the tables that it holds of each loaded object. Any thread.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hidden; the address of dlopen() itself once loader_ready() was called. */
extern void *loader_real_dlopen;
void loader_ready(void);

void *loader_open(const char *path, int flags);
int loader_close(void *handle);

/* The tables of PT_DYNAMIC. */
struct loader_tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
	const ElfW(Rela) * relocations[2];
	size_t bytes[2];
};

/* 0: it has no symbols. */
bool loader_tables_read(struct loader_tables *tables, const struct dl_phdr_info *info);

/*
 * For each relocation that needs a symbol: the slot that it fills, and the symbol. A visit that
 * returns other than 0 ends the walk, which returns that.
 */
typedef int (*loader_visit_fn)(void *context, uintptr_t *slot, const ElfW(Sym) * symbol);
int loader_each_slot(const struct loader_tables *tables, const struct dl_phdr_info *info,
	loader_visit_fn visit, void *context);
