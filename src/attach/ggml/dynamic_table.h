/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic linker knows of a loaded object, as it has it in memory. Any thread. */
#pragma once

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The tables of PT_DYNAMIC. */
struct dynamic_table {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
	const ElfW(Rela) * lists[2];
	size_t bytes[2];
};

/* 0: it has no symbols. */
int dynamic_table_read(struct dynamic_table *d, const struct dl_phdr_info *info);
