/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an object may have to be patched (patched.h), told cheaply, as most objects of most
 * programs have nothing to do with ggml: its dynamic symbols and relocations, as the dynamic linker
 * has them in memory; for one that exports none of the functions, whether its file, or a debug file
 * of it, has a .symtab.
 */
#include <elf.h>
#include <string.h>
#include "attach/ggml/dynamic_table.h"
#include "attach/ggml/patched.h"
#include "attach/patch/debug_file.h"

static int is_hooked(const char *name)
{
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (!strcmp(ggml_symbols[i].name, name))
			return 1;
	return 0;
}

static int is_defined_function(const struct dynamic_table *d, const ElfW(Sym) * symbol)
{
	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       is_hooked(d->strings + symbol->st_name);
}

/* Does the dynamic linker have to find one of the functions that the object itself defines? */
static int reaches_own(const struct dynamic_table *d)
{
	for (int list = 0; list < 2; list++)
		for (size_t i = 0; d->lists[list] && i < d->bytes[list] / sizeof(ElfW(Rela)); i++) {
			size_t symbol = ELF64_R_SYM(d->lists[list][i].r_info);
			if (symbol && is_defined_function(d, &d->symbols[symbol]))
				return 1;
		}
	return 0;
}

/* GNU's hash table: bloom words, buckets of first symbols, chains whose last has an odd hash. */
static int exports_one(const struct dynamic_table *d)
{
	if (!d->hash)
		return 0;
	uint32_t buckets = d->hash[0], first = d->hash[1], words = d->hash[2];
	const uint32_t *bucket = d->hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;

	for (uint32_t b = 0; b < buckets; b++)
		for (uint32_t i = bucket[b]; i >= first && i; i++) {
			if (is_defined_function(d, &d->symbols[i]))
				return 1;
			if (chain[i - first] & 1)
				break;
		}
	return 0;
}

enum patched_candidate patched_judge(const struct dl_phdr_info *info, const char *path)
{
	struct dynamic_table d;
	int known = dynamic_table_read(&d, info);

	if (known && reaches_own(&d))
		return PATCHED_NO;
	if (known && exports_one(&d))
		return PATCHED_EXPORTS;
	struct debug_file symbols;
	return debug_file_find(&symbols, path) > 0 ? PATCHED_MAYBE : PATCHED_NO;
}
