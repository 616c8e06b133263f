/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading an image by libelf (image.h). Functions of .symtab and .dynsym are merged: one name at
 * one address is one function.
 */
#include "attach/patch/image.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fnv.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/error.h"
#include "lib/sys/elf.h"

COMPARATOR(image_compare_parts, struct image_part, ORDER(x->address, y->address))

COMPARATOR(compare_functions, struct image_function,
	ORDER(x->address, y->address) ?: strcmp(x->name, y->name))

static int image_add_part(
	struct image *image, Elf_Scn *section, const GElf_Shdr *header, size_t names)
{
	struct image_part part = {.address = header->sh_addr,
		.is_code = (header->sh_flags & SHF_EXECINSTR) != 0,
		.name = elf_strptr(image->elf, names, header->sh_name)};

	if (!(header->sh_flags & SHF_ALLOC) || header->sh_type == SHT_NOBITS)
		return 0;
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return 0;
	part.data = data->d_buf;
	part.bytes = data->d_size;
	if (!part.name)
		part.name = "";
	if (part.address + part.bytes < part.address)
		return 0;
	return array_push(&image->parts, part);
}

/* elf: that the section is of. referred: one byte for each symbol, or NULL. */
static int add_symbols(struct image *image, Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
	const uint8_t *referred)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	bool is_dynamic = header->sh_type == SHT_DYNSYM;
	GElf_Sym symbol;
	int error = 0;

	for (size_t i = 1; data && i < count && !error; i++) {
		if (!gelf_getsym(data, (int)i, &symbol))
			continue;
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		bool is_reached = referred && referred[i];
		if (symbol.st_shndx == SHN_UNDEF) {
			if (is_reached && name)
				error = array_push(&image->imports, name);
			continue;
		}
		struct image_function f = {.name = name,
			.address = symbol.st_value,
			.bytes = symbol.st_size,
			.is_exported = is_dynamic && GELF_ST_BIND(symbol.st_info) != STB_LOCAL &&
				       GELF_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT,
			.is_reached = is_reached};
		if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && f.address && name && *name &&
			f.address + f.bytes >= f.address)
			error = array_push(&image->functions, f);
	}
	return error;
}

/*
 * The dynamic symbols; which of them relocations ask for, and which addresses the dynamic linker
 * will write.
 */
static int read_dynamic(struct image *image, Elf_Scn *dynsym, const GElf_Shdr *header)
{
	size_t index = elf_ndxscn(dynsym), symbols = header->sh_size / sizeof(Elf64_Sym) + 1;
	SCOPED uint8_t *referred = calloc(symbols, 1);
	GElf_Shdr each;
	GElf_Rela rela;

	if (!referred)
		return -ENOMEM;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(image->elf, s));) {
		if (!gelf_getshdr(s, &each) || each.sh_type != SHT_RELA ||
			!(each.sh_flags & SHF_ALLOC) || each.sh_link != index)
			continue;
		Elf_Data *data = elf_getdata(s, NULL);
		size_t count = each.sh_entsize ? each.sh_size / each.sh_entsize : 0;
		for (size_t i = 0; data && i < count && gelf_getrela(data, (int)i, &rela); i++) {
			size_t symbol = GELF_R_SYM(rela.r_info);
			if (symbol && symbol < symbols)
				referred[symbol] = 1;
			if (!symbol && array_push(&image->pointers, (uint64_t)rela.r_addend))
				return -ENOMEM;
		}
	}
	return add_symbols(image, image->elf, dynsym, header, referred);
}

static int read_sections(struct image *image)
{
	size_t names;
	GElf_Shdr header;
	int error = elf_getshdrstrndx(image->elf, &names) ? BRICK_EFORMAT : 0;

	for (Elf_Scn *s = NULL; !error && (s = elf_nextscn(image->elf, s));) {
		if (!gelf_getshdr(s, &header))
			return BRICK_EFORMAT;
		error = image_add_part(image, s, &header, names);
		if (!error && header.sh_type == SHT_SYMTAB) {
			image->has_symbols = 1;
			error = add_symbols(image, image->elf, s, &header, NULL);
		} else if (!error && header.sh_type == SHT_DYNSYM) {
			image->has_dynamic = 1;
			error = read_dynamic(image, s, &header);
		}
	}
	return error;
}

/* Reads the debug file of a stripped file. */
static int read_debug_file(struct image *image, const char *path)
{
	struct debug_file found;
	GElf_Shdr header;
	int error = debug_file_find(&found, path);

	memcpy(image->build_id, found.build_id, sizeof(image->build_id));
	if (error <= 0 || image->has_symbols)
		return error < 0 ? error : 0;
	image->debug_fd = open(found.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	image->debug = elf_begin(image->debug_fd, ELF_C_READ_MMAP, NULL);
	error = 0;
	for (Elf_Scn *s = NULL; !error && (s = elf_nextscn(image->debug, s));)
		if (gelf_getshdr(s, &header) && header.sh_type == SHT_SYMTAB) {
			image->has_symbols = 1;
			error = add_symbols(image, image->debug, s, &header, NULL);
		}
	return error;
}

size_t image_name_length(const char *name)
{
	const char *suffix = strstr(name, ".lto_priv.");
	const char *number = suffix ? suffix + strlen(".lto_priv.") : "";

	/* After the number the kind of copy or piece may stand: ".constprop.0", ".cold". */
	return *number && !number[strspn(number, "0123456789")] ? (size_t)(suffix - name)
								: strlen(name);
}

static bool image_is_called(const struct image_function *f, const char *name)
{
	size_t length = image_name_length(f->name);

	return strlen(name) == length && !memcmp(f->name, name, length);
}

/* One entry for each name and address, and an index of names. */
static int merge_functions(struct image *image)
{
	size_t kept = 0;
	struct image_function *list = image->functions.items;

	if (image->functions.count)
		qsort(list, image->functions.count, sizeof(*list), compare_functions);
	for (size_t i = 0; i < image->functions.count; i++) {
		if (kept && !compare_functions(&list[kept - 1], &list[i])) {
			list[kept - 1].is_exported |= list[i].is_exported;
			list[kept - 1].is_reached |= list[i].is_reached;
			continue;
		}
		list[kept++] = list[i];
	}
	image->functions.count = kept;
	for (size_t i = 0; i < kept; i++)
		if (hash_index_add(&image->names,
			    fnv1a(list[i].name, image_name_length(list[i].name)), (uint32_t)i))
			return -ENOMEM;
	return 0;
}

static int read_image(struct image *image, const char *path)
{
	GElf_Ehdr header;

	image->elf = elf_begin(image->fd, ELF_C_READ_MMAP, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &header))
		return BRICK_EFORMAT;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != SYS_ELF_MACHINE)
		return BRICK_EUNSUPPORTED;
	int error = read_sections(image);
	if (!error)
		error = read_debug_file(image, path);
	if (!error)
		error = merge_functions(image);
	if (error)
		return error;
	array_sort(&image->parts, image_compare_parts);
	array_sort(&image->pointers, order_u64);
	return 0;
}

int image_open(struct image *image, const char *path)
{
	memset(image, 0, sizeof(*image));
	image->debug_fd = -1;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return BRICK_EUNSUPPORTED;
	image->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (image->fd < 0)
		return -errno;
	int error = read_image(image, path);
	if (error)
		image_close(image);
	return error;
}

void image_close(struct image *image)
{
	array_fini(&image->parts);
	array_fini(&image->functions);
	array_fini(&image->pointers);
	array_fini(&image->imports);
	hash_index_fini(&image->names);
	elf_end(image->debug);
	elf_end(image->elf);
	if (image->debug_fd >= 0)
		close(image->debug_fd);
	if (image->fd >= 0)
		close(image->fd);
	memset(image, 0, sizeof(*image));
	image->fd = image->debug_fd = -1;
}

const struct image_function *image_find(const struct image *image, const char *name, int *ambiguous)
{
	struct hash_probe probe = hash_probe(fnv1a_text(name));
	const struct image_function *found = NULL;

	for (uint32_t i; (i = hash_index_next(&image->names, &probe)) != HASH_INDEX_NONE;) {
		if (!image_is_called(&image->functions.items[i], name))
			continue;
		if (found) {
			if (ambiguous)
				*ambiguous = 1;
			return NULL;
		}
		found = &image->functions.items[i];
	}
	return found;
}

/* True if a function of that name is exported, or is reached through the dynamic linker. */
static bool is_one(const struct image *image, const char *name, int reached)
{
	struct hash_probe probe = hash_probe(fnv1a_text(name));

	for (uint32_t i; (i = hash_index_next(&image->names, &probe)) != HASH_INDEX_NONE;) {
		const struct image_function *f = &image->functions.items[i];
		if ((reached ? f->is_reached : f->is_exported) && image_is_called(f, name))
			return true;
	}
	return false;
}

bool image_exports(const struct image *image, const char *name)
{
	return is_one(image, name, 0);
}

bool image_reaches(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image->imports.count; i++)
		if (!strcmp(image->imports.items[i], name))
			return true;
	return is_one(image, name, 1);
}

const struct image_function *image_function_at(const struct image *image, uint64_t address)
{
	const struct image_function *list = image->functions.items;
	size_t low = BISECT(i, 0, image->functions.count, list[i].address <= address);

	/* those without a length, such as labels in assembly, are passed over */
	for (int tries = 0; low-- > 0 && tries < 8; tries++)
		if (address - list[low].address < list[low].bytes)
			return &list[low];
	return NULL;
}

const struct image_part *image_part_at(const struct image *image, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < image->parts.count; i++) {
		const struct image_part *part = &image->parts.items[i];
		if (address >= part->address && address - part->address < part->bytes &&
			bytes <= part->bytes - (address - part->address))
			return part;
	}
	return NULL;
}

bool image_is_executed(const struct image *image, uint64_t address, uint64_t bytes)
{
	size_t count = 0;
	GElf_Phdr p;

	if (elf_getphdrnum(image->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(image->elf, (int)i, &p) && p.p_type == PT_LOAD &&
			(p.p_flags & PF_X) && address >= p.p_vaddr &&
			address - p.p_vaddr < p.p_filesz &&
			bytes <= p.p_filesz - (address - p.p_vaddr))
			return true;
	return false;
}

const uint8_t *image_bytes(const struct image *image, uint64_t address, uint64_t *available)
{
	const struct image_part *part = image_part_at(image, address, 1);

	if (!part)
		return NULL;
	if (available)
		*available = part->bytes - (address - part->address);
	return part->data + (address - part->address);
}
