/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of loaded objects (dynamic_table.h). */
#include "attach/ggml/dynamic_table.h"

#include <elf.h>
#include <string.h>

/* The C library has made addresses of what most tables hold; others leave distances. */
static uintptr_t address_of(const struct dl_phdr_info *info, uintptr_t value)
{
	return value < info->dlpi_addr ? value + info->dlpi_addr : value;
}

static void read_entry(
	struct dynamic_table *d, const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
	uintptr_t at = address_of(info, entry->d_un.d_ptr);

	switch (entry->d_tag) {
	case DT_SYMTAB:
		d->symbols = (const ElfW(Sym) *)at;
		break;
	case DT_STRTAB:
		d->strings = (const char *)at;
		break;
	case DT_GNU_HASH:
		d->hash = (const uint32_t *)at;
		break;
	case DT_JMPREL:
		d->lists[0] = (const ElfW(Rela) *)at;
		break;
	case DT_PLTRELSZ:
		d->bytes[0] = entry->d_un.d_val;
		break;
	case DT_RELA:
		d->lists[1] = (const ElfW(Rela) *)at;
		break;
	case DT_RELASZ:
		d->bytes[1] = entry->d_un.d_val;
		break;
	}
}

int dynamic_table_read(struct dynamic_table *d, const struct dl_phdr_info *info)
{
	memset(d, 0, sizeof *d);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Dyn) *entry =
			(const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		for (; entry->d_tag != DT_NULL; entry++)
			read_entry(d, info, entry);
	}
	return d->symbols && d->strings;
}
