/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking for debug files (debug_file.h). Without libelf, since what is injected asks this of every
 * object that a program loads. Formats: the System V ABI; GDB's manual, "Debugging Information in
 * Separate Files".
 */
#include "attach/patch/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/scope.h"
#include "brick/error.h"
#include "lib/sys/environment.h"

enum { MAX_SECTIONS = 4096, MAX_NAMES = 1 << 20, MAX_SMALL = 4096, CHUNK = 1 << 16 };

struct object_file {
	int fd;
	uint16_t machine;
	size_t count;
	Elf64_Shdr *sections;
	char *names; /* ends in NUL */
	size_t name_bytes;
	char build_id[DEBUG_FILE_ID_BYTES];
	char link[256]; /* the name of its debug file, and its checksum; "": it states none */
	uint32_t link_crc;
};

static int debug_file_read_at(int fd, void *data, size_t bytes, uint64_t offset)
{
	return pread(fd, data, bytes, (off_t)offset) == (ssize_t)bytes ? 0 : BRICK_EFORMAT;
}

static int read_headers(struct object_file *f)
{
	Elf64_Ehdr header;

	if (debug_file_read_at(f->fd, &header, sizeof(header), 0) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
		header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > MAX_SECTIONS)
		return BRICK_EFORMAT;
	f->machine = header.e_machine;
	f->count = header.e_shnum;
	f->sections = calloc(f->count + 1, sizeof(Elf64_Shdr));
	if (!f->sections)
		return -ENOMEM;
	if (debug_file_read_at(f->fd, f->sections, f->count * sizeof(Elf64_Shdr), header.e_shoff))
		return BRICK_EFORMAT;
	if (header.e_shstrndx >= f->count || f->sections[header.e_shstrndx].sh_size > MAX_NAMES)
		return 0; /* sections without names */
	f->name_bytes = f->sections[header.e_shstrndx].sh_size;
	f->names = calloc(f->name_bytes + 1, 1);
	if (!f->names)
		return -ENOMEM;
	return debug_file_read_at(
		f->fd, f->names, f->name_bytes, f->sections[header.e_shstrndx].sh_offset);
}

static const Elf64_Shdr *section_of_type(const struct object_file *f, uint32_t type)
{
	for (size_t i = f->count; i-- > 0;) /* a .symtab is one of the last */
		if (f->sections[i].sh_type == type)
			return &f->sections[i];
	return NULL;
}

/* One note after the other: lengths of name and description, type, both, each padded to words. */
static void read_notes(struct object_file *f, const uint8_t *data, size_t bytes)
{
	Elf64_Nhdr note;

	for (size_t at = 0; bytes - at >= sizeof(note);) {
		memcpy(&note, data + at, sizeof(note));
		at += sizeof(note);
		size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		size_t text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > bytes - at || text > bytes - at - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
			!memcmp(data + at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)))
			for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < sizeof(f->build_id);
				i++)
				snprintf(f->build_id + 2 * i, 3, "%02x", data[at + name + i]);
		at += name + text;
	}
}

/* A name and NUL, padded to words, and the checksum. */
static void read_link(struct object_file *f, const uint8_t *data, size_t bytes)
{
	size_t name = strnlen((const char *)data, bytes), crc = (name + 4) & ~(size_t)3;

	if (name >= sizeof(f->link) || crc + sizeof(f->link_crc) > bytes || memchr(data, '/', name))
		return;
	memcpy(f->link, data, name);
	memcpy(&f->link_crc, data + crc, sizeof(f->link_crc));
}

static void read_identity(struct object_file *f)
{
	uint8_t data[MAX_SMALL];

	for (size_t i = 0; i < f->count; i++) {
		const Elf64_Shdr *s = &f->sections[i];
		const char *name = s->sh_name < f->name_bytes ? f->names + s->sh_name : "";
		bool is_link = !strcmp(name, ".gnu_debuglink");
		if ((s->sh_type != SHT_NOTE && !is_link) || s->sh_size > sizeof(data) ||
			debug_file_read_at(f->fd, data, s->sh_size, s->sh_offset))
			continue;
		if (is_link)
			read_link(f, data, s->sh_size);
		else
			read_notes(f, data, s->sh_size);
	}
}

static void close_object(struct object_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->sections);
	free(f->names);
}

static int open_object(struct object_file *f, const char *path)
{
	memset(f, 0, sizeof(*f));
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	int error = read_headers(f);
	if (error)
		close_object(f);
	else
		read_identity(f);
	return error;
}

/* As .gnu_debuglink has it: the CRC-32 of zlib and Ethernet, of the whole file. */
static bool has_crc(int fd, uint32_t wanted)
{
	SCOPED uint8_t *data = malloc(CHUNK);
	uint32_t crc = ~0u;
	uint64_t at = 0;
	ssize_t n;

	while (data && (n = pread(fd, data, CHUNK, (off_t)at)) > 0) {
		at += (uint64_t)n;
		for (ssize_t i = 0; i < n; i++) {
			crc ^= data[i];
			for (int bit = 0; bit < 8; bit++)
				crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		}
	}
	return at && ~crc == wanted;
}

/* The next section of code at or behind *i. */
static const Elf64_Shdr *next_code(const struct object_file *f, size_t *i)
{
	while (*i < f->count) {
		const Elf64_Shdr *s = &f->sections[(*i)++];
		if (s->sh_flags & SHF_EXECINSTR)
			return s;
	}
	return NULL;
}

static bool has_same_code(const struct object_file *a, const struct object_file *b)
{
	size_t i = 0, j = 0;
	const Elf64_Shdr *one, *two;

	do {
		one = next_code(a, &i);
		two = next_code(b, &j);
		if (!one != !two ||
			(one && (one->sh_addr != two->sh_addr || one->sh_size != two->sh_size)))
			return false;
	} while (one);
	return a->machine == b->machine;
}

static bool debug_file_is_of(const struct object_file *f, const char *path)
{
	struct object_file other;

	if (open_object(&other, path))
		return false;
	int same = section_of_type(&other, SHT_SYMTAB) && has_same_code(f, &other) &&
		   (*f->build_id ? !strcmp(f->build_id, other.build_id)
				 : *f->link && has_crc(other.fd, f->link_crc));
	close_object(&other);
	return same;
}

/* One place; parts that are NULL are variables that are not set. */
static bool debug_file_is_at(struct debug_file *found, const struct object_file *f,
	const char *root, const char *folder, const char *name, const char *end)
{
	return root && name &&
	       snprintf(found->path, sizeof(found->path), "%s%s%s%s", root, folder, name, end) <
		       (int)sizeof(found->path) &&
	       !access(found->path, R_OK) && debug_file_is_of(f, found->path);
}

static bool search_by_id(struct debug_file *found, const struct object_file *f)
{
	char folder[32];

	if (strlen(f->build_id) < 4)
		return false;
	snprintf(folder, sizeof(folder), "/.build-id/%.2s/", f->build_id);
	return debug_file_is_at(found, f, "/usr/lib/debug", folder, f->build_id + 2, ".debug") ||
	       debug_file_is_at(found, f, brick__environment("DEBUGINFOD_CACHE_PATH"), "/",
		       f->build_id, "/debuginfo") ||
	       debug_file_is_at(found, f, brick__environment("XDG_CACHE_HOME"),
		       "/debuginfod_client/", f->build_id, "/debuginfo") ||
	       debug_file_is_at(found, f, brick__environment("HOME"), "/.cache/debuginfod_client/",
		       f->build_id, "/debuginfo");
}

static bool search_by_link(struct debug_file *found, const struct object_file *f, const char *path)
{
	SCOPED char *folder = realpath(path, NULL);
	bool is_found = 0;

	if (folder && *f->link && strrchr(folder, '/')) {
		*strrchr(folder, '/') = '\0';
		is_found =
			debug_file_is_at(found, f, folder, "/", f->link, "") ||
			debug_file_is_at(found, f, folder, "/.debug/", f->link, "") ||
			(strlen(folder) < PATH_MAX - 300 &&
				debug_file_is_at(found, f, "/usr/lib/debug", folder, "/", f->link));
	}
	return is_found;
}

int debug_file_find(struct debug_file *found, const char *path)
{
	struct object_file f;
	int error = open_object(&f, path), is_found = 0;

	memset(found, 0, sizeof(*found));
	if (error)
		return error;
	snprintf(found->build_id, sizeof(found->build_id), "%s", f.build_id);
	if (section_of_type(&f, SHT_SYMTAB))
		is_found = snprintf(found->path, sizeof(found->path), "%s", path) <
			   (int)sizeof(found->path);
	else
		is_found = search_by_id(found, &f) || search_by_link(found, &f, path);
	close_object(&f);
	return is_found;
}

bool debug_file_mentions(const struct debug_file *found, const char *text)
{
	struct object_file f;
	bool is_there = false;

	if (open_object(&f, found->path))
		return false;
	const Elf64_Shdr *symbols = section_of_type(&f, SHT_SYMTAB);
	const Elf64_Shdr *names =
		symbols && symbols->sh_link < f.count ? &f.sections[symbols->sh_link] : NULL;
	struct stat st;
	if (names && !fstat(f.fd, &st) && names->sh_offset < (uint64_t)st.st_size &&
		names->sh_size <= (uint64_t)st.st_size - names->sh_offset) {
		size_t before = names->sh_offset % CHUNK, bytes = before + names->sh_size;
		char *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, f.fd,
			(off_t)(names->sh_offset - before));
		is_there = data != MAP_FAILED &&
			   memmem(data + before, names->sh_size, text, strlen(text));
		if (data != MAP_FAILED)
			munmap(data, bytes);
	}
	close_object(&f);
	return is_there;
}
