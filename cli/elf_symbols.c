/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the dynamic symbol table, its strings and the relocations against it, by section headers.
 * The format is that of the System V ABI, "Object Files". Called by `brick doctor`.
 */
#include "cli/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brick/error.h"

enum { SECTIONS_MAX = 4096 };

struct elf_symbols {
	Elf64_Sym *symbols;
	size_t count;
	char *strings; /* ends in NUL */
	size_t string_bytes;
	uint8_t *referred; /* [count] */
};

struct elf_file {
	int fd;
	uint64_t bytes;
	Elf64_Shdr *sections;
	size_t section_count;
};

/* A new buffer with that part of the file and a NUL behind it; NULL with errno or EINVAL. */
static void *read_part(const struct elf_file *file, uint64_t offset, uint64_t bytes)
{
	if (offset > file->bytes || bytes > file->bytes - offset) {
		errno = EINVAL;
		return NULL;
	}
	char *data = malloc(bytes + 1);
	for (uint64_t done = 0; data && done < bytes;) {
		ssize_t n = pread(file->fd, data + done, bytes - done, (off_t)(offset + done));
		if (n <= 0) {
			if (n < 0 && errno == EINTR)
				continue;
			free(data);
			errno = n ? errno : EINVAL;
			return NULL;
		}
		done += (uint64_t)n;
	}
	if (data)
		data[bytes] = '\0';
	return data;
}

static int error_of_part(void)
{
	return errno == ENOMEM ? -ENOMEM : BRICK_EFORMAT;
}

static int read_sections(struct elf_file *file)
{
	Elf64_Ehdr *header = read_part(file, 0, sizeof(*header));
	if (!header)
		return error_of_part();
	int rc = 0;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG))
		rc = BRICK_EFORMAT;
	else if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		rc = BRICK_EUNSUPPORTED;
	else if (!header->e_shnum)
		rc = BRICK_ENOTRECORDED;
	else if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > SECTIONS_MAX)
		rc = BRICK_EFORMAT;
	if (rc == 0) {
		file->section_count = header->e_shnum;
		file->sections =
			read_part(file, header->e_shoff, file->section_count * sizeof(Elf64_Shdr));
		rc = file->sections ? 0 : error_of_part();
	}
	free(header);
	return rc;
}

static int read_symbols(struct elf_symbols *symbols, const struct elf_file *file, size_t section)
{
	const Elf64_Shdr *table = &file->sections[section];
	if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= file->section_count)
		return BRICK_EFORMAT;
	const Elf64_Shdr *strings = &file->sections[table->sh_link];
	symbols->symbols = read_part(file, table->sh_offset, table->sh_size);
	symbols->strings = read_part(file, strings->sh_offset, strings->sh_size);
	if (!symbols->symbols || !symbols->strings)
		return error_of_part();
	symbols->count = table->sh_size / sizeof(Elf64_Sym);
	symbols->string_bytes = strings->sh_size;
	symbols->referred = calloc(symbols->count + 1, 1);
	return symbols->referred ? 0 : -ENOMEM;
}

static int read_relocations(
	struct elf_symbols *symbols, const struct elf_file *file, size_t section)
{
	const Elf64_Shdr *header = &file->sections[section];
	if (header->sh_entsize != sizeof(Elf64_Rela))
		return BRICK_EFORMAT;
	Elf64_Rela *list = read_part(file, header->sh_offset, header->sh_size);
	if (!list)
		return error_of_part();
	for (size_t i = 0; i < header->sh_size / sizeof(*list); i++) {
		uint64_t symbol = ELF64_R_SYM(list[i].r_info);
		if (symbol && symbol < symbols->count)
			symbols->referred[symbol] = 1;
	}
	free(list);
	return 0;
}

static int read_all(struct elf_symbols *symbols, struct elf_file *file)
{
	size_t dynamic = 0;
	int rc = read_sections(file);
	if (rc < 0)
		return rc;
	for (size_t i = 1; i < file->section_count && !dynamic; i++)
		if (file->sections[i].sh_type == SHT_DYNSYM)
			dynamic = i;
	if (!dynamic)
		return BRICK_ENOTRECORDED;
	rc = read_symbols(symbols, file, dynamic);
	for (size_t i = 1; i < file->section_count && rc == 0; i++)
		if (file->sections[i].sh_type == SHT_RELA && file->sections[i].sh_link == dynamic)
			rc = read_relocations(symbols, file, i);
	return rc;
}

int elf_symbols_open(struct elf_symbols **out, const char *path)
{
	struct stat st;
	struct elf_file file = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	if (file.fd < 0)
		return -errno;
	struct elf_symbols *symbols = calloc(1, sizeof(*symbols));
	int rc = symbols ? 0 : -ENOMEM;
	if (rc == 0 && fstat(file.fd, &st) < 0)
		rc = -errno;
	else if (rc == 0 && !S_ISREG(st.st_mode))
		rc = BRICK_EFORMAT;
	if (rc == 0) {
		file.bytes = (uint64_t)st.st_size;
		rc = read_all(symbols, &file);
	}
	free(file.sections);
	close(file.fd);
	if (rc < 0) {
		elf_symbols_close(symbols);
		return rc;
	}
	*out = symbols;
	return 0;
}

static int is_named(const struct elf_symbols *symbols, size_t i, const char *name)
{
	return symbols->symbols[i].st_name < symbols->string_bytes &&
	       !strcmp(symbols->strings + symbols->symbols[i].st_name, name);
}

int elf_symbols_defines(const struct elf_symbols *symbols, const char *name)
{
	for (size_t i = 1; i < symbols->count; i++) {
		const Elf64_Sym *symbol = &symbols->symbols[i];
		int binding = ELF64_ST_BIND(symbol->st_info);
		int visibility = ELF64_ST_VISIBILITY(symbol->st_other);
		if (symbol->st_shndx != SHN_UNDEF &&
			(binding == STB_GLOBAL || binding == STB_WEAK) &&
			visibility != STV_HIDDEN && is_named(symbols, i, name))
			return 1;
	}
	return 0;
}

int elf_symbols_refers(const struct elf_symbols *symbols, const char *name)
{
	for (size_t i = 1; i < symbols->count; i++)
		if (symbols->referred[i] && is_named(symbols, i, name))
			return 1;
	return 0;
}

void elf_symbols_close(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->symbols);
	free(symbols->strings);
	free(symbols->referred);
	free(symbols);
}
