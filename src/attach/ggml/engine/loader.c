/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic linker's functions and tables (loader.h). Code of this library must use these
 * functions: dlopen() and dlclose() by name are our own hooks (hooks_process.c).
 */
#include "attach/ggml/engine/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include "lib/sys/functions.h"

void *loader_real_dlopen __attribute__((visibility("hidden")));

void loader_ready(void)
{
	sys_function_next(&loader_real_dlopen, "dlopen");
}

void *loader_open(const char *path, int flags)
{
	void *(*open)(const char *, int) =
		(void *(*)(const char *, int))sys_function_next(&loader_real_dlopen, "dlopen");

	return open(path, flags);
}

int loader_close(void *handle)
{
	static void *found;
	int (*close)(void *) = (int (*)(void *))sys_function_next(&found, "dlclose");

	return close ? close(handle) : -1;
}

bool loader_tables_read(struct loader_tables *t, const struct dl_phdr_info *info)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Dyn) *entry =
			(const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		for (; entry->d_tag != DT_NULL; entry++) {
			/* The C library has made addresses of what most tables hold; others leave
			 * distances. */
			uintptr_t at = entry->d_un.d_ptr;
			at += at < info->dlpi_addr ? info->dlpi_addr : 0;
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
	}
	return t->symbols && t->strings;
}

int loader_each_slot(const struct loader_tables *t, const struct dl_phdr_info *info,
	loader_visit_fn visit, void *context)
{
	int result = 0;

	for (int list = 0; list < 2; list++)
		for (size_t i = 0;
			!result && t->relocations[list] && i < t->bytes[list] / sizeof(ElfW(Rela));
			i++) {
			const ElfW(Rela) *r = &t->relocations[list][i];
			size_t symbol = ELF64_R_SYM(r->r_info);
			if (symbol)
				result =
					visit(context, (uintptr_t *)(info->dlpi_addr + r->r_offset),
						&t->symbols[symbol]);
		}
	return result;
}
