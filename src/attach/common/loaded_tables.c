/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/common/loaded_tables.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_entry(struct loaded_tables *t, const ElfW(Dyn) * entry)
{
	/* The C library has made addresses of the distances in most tables; others, and the
	 * kernel's own object, have distances. */
	uintptr_t at = entry->d_un.d_ptr;

	at += at < t->base ? t->base : 0;
	switch (entry->d_tag) {
	case DT_SYMTAB:
		t->symbols = (const ElfW(Sym) *)at;
		break;
	case DT_STRTAB:
		t->strings = (const char *)at;
		break;
	case DT_GNU_HASH:
		t->hash = (const uint32_t *)at;
		break;
	case DT_JMPREL:
		t->relocations[0] = (const ElfW(Rela) *)at;
		break;
	case DT_PLTRELSZ:
		t->bytes[0] = entry->d_un.d_val;
		break;
	case DT_RELA:
		t->relocations[1] = (const ElfW(Rela) *)at;
		break;
	case DT_RELASZ:
		t->bytes[1] = entry->d_un.d_val;
		break;
	}
}

bool loaded_tables_read(struct loaded_tables *t, const struct dl_phdr_info *info)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	*t = (struct loaded_tables){.base = info->dlpi_addr};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(t->base + p->p_vaddr);
		if (p->p_type == PT_GNU_RELRO) {
			/* glibc seals whole pages only: a part of a page at the end stays */
			t->sealed = (t->base + p->p_vaddr) & -page;
			t->sealed_end = (t->base + p->p_vaddr + p->p_memsz) & -page;
		}
		for (; p->p_type == PT_DYNAMIC && entry->d_tag != DT_NULL; entry++)
			read_entry(t, entry);
	}
	return t->symbols && t->strings;
}

int loaded_each_slot(const struct loaded_tables *t, loaded_visit_fn visit, void *context)
{
	int result = 0;

	for (int list = 0; list < 2; list++)
		for (size_t i = 0;
			!result && t->relocations[list] && i < t->bytes[list] / sizeof(ElfW(Rela));
			i++) {
			const ElfW(Rela) *r = &t->relocations[list][i];
			if (ELF64_R_SYM(r->r_info))
				result = visit(context, t, (uintptr_t *)(t->base + r->r_offset), r);
		}
	return result;
}

int loaded_page_protect(const uintptr_t *slot, int protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	return mprotect((void *)((uintptr_t)slot & -page), page, protection);
}

int loaded_slot_store(const struct loaded_tables *t, uintptr_t *slot, uintptr_t value)
{
	bool is_sealed = loaded_is_sealed(t, slot);

	if (is_sealed && loaded_page_protect(slot, PROT_READ | PROT_WRITE))
		return -EPERM;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (is_sealed)
		loaded_page_protect(slot, PROT_READ);
	return 0;
}
