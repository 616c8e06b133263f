/* SPDX-License-Identifier: Apache-2.0 */
/* Reading section names of a 64-bit ELF file in memory; every offset is checked (cubin.h). */
#include "attach/cuda/cubin.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define PREFIX ".text."

struct view {
	const unsigned char *data;
	size_t bytes;
};

static int holds(const struct view *v, uint64_t offset, uint64_t bytes)
{
	return offset <= v->bytes && bytes <= v->bytes - offset;
}

static int read_section(const struct view *v, const Elf64_Ehdr *elf, uint32_t i, Elf64_Shdr *out)
{
	uint64_t offset = (uint64_t)i * sizeof *out;

	if (elf->e_shoff > v->bytes || !holds(v, elf->e_shoff + offset, sizeof *out))
		return 0;
	memcpy(out, v->data + elf->e_shoff + offset, sizeof *out);
	return 1;
}

/* The name, if it ends within the table. */
static const char *name_at(const struct view *v, const Elf64_Shdr *names, uint32_t at)
{
	if (at >= names->sh_size)
		return NULL;
	const char *name = (const char *)v->data + names->sh_offset + at;
	return memchr(name, '\0', names->sh_size - at) ? name : NULL;
}

int cubin_names(const void *cubin, size_t bytes, cubin_name_fn found, void *context)
{
	struct view v = {cubin, bytes};
	Elf64_Ehdr elf;
	Elf64_Shdr names, section;
	int count = 0;

	if (!cubin || bytes < sizeof elf)
		return 0;
	memcpy(&elf, cubin, sizeof elf);
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
		elf.e_shentsize != sizeof section ||
		!read_section(&v, &elf, elf.e_shstrndx, &names) ||
		!holds(&v, names.sh_offset, names.sh_size))
		return 0;
	for (uint32_t i = 0; i < elf.e_shnum && read_section(&v, &elf, i, &section); i++) {
		const char *name = name_at(&v, &names, section.sh_name);
		if (!name || strncmp(name, PREFIX, sizeof PREFIX - 1))
			continue;
		found(context, name + sizeof PREFIX - 1);
		count++;
	}
	return count;
}
