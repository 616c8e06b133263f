/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's ELF header tells beforehand what the dynamic linker would only complain about, on the
 * program's own stderr.
 */
#include "lib/sys/executable.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/scope.h"
#include "lib/sys/elf.h"

/* Little is kept of it: stacks of threads that start programs may be small. */
struct program {
	int fd;
	const Elf64_Ehdr *elf;
};

/* The first segment of that type that has the address, where that is not 0. */
static bool find_segment(
	const struct program *p, Elf64_Word type, Elf64_Addr address, Elf64_Phdr *found)
{
	for (unsigned i = 0; i < p->elf->e_phnum; i++) {
		off_t offset = (off_t)(p->elf->e_phoff + i * sizeof(*found));
		if (pread(p->fd, found, sizeof(*found), offset) != (ssize_t)sizeof(*found))
			return false;
		if (found->p_type == type &&
			(!address || address - found->p_vaddr < found->p_filesz))
			return true;
	}
	return false;
}

/* Each C library comes with a dynamic linker of its own. */
static bool is_of_other_libc(const struct program *p, const Elf64_Phdr *interpreter)
{
	char path[NAME_MAX] = "";

	if (interpreter->p_filesz >= sizeof(path) ||
		pread(p->fd, path, interpreter->p_filesz, (off_t)interpreter->p_offset) <= 0)
		return false;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	return *name && *SYS_INTERPRETER && strcmp(name, SYS_INTERPRETER);
}

static off_t offset_of(const struct program *p, Elf64_Addr address)
{
	Elf64_Phdr segment;

	return find_segment(p, PT_LOAD, address, &segment)
		       ? (off_t)(address - segment.p_vaddr + segment.p_offset)
		       : -1;
}

/* Does one of the entries name the sanitizer's library, of GCC or of Clang? */
static bool names_sanitizer(const struct program *p, const Elf64_Dyn *entries, unsigned count)
{
	off_t strings = -1;
	bool found = false;

	for (unsigned i = 0; i < count; i++)
		if (entries[i].d_tag == DT_STRTAB)
			strings = offset_of(p, entries[i].d_un.d_ptr);
	for (unsigned i = 0; i < count && strings >= 0 && !found; i++) {
		char name[32] = "";
		if (entries[i].d_tag != DT_NEEDED)
			continue;
		found = pread(p->fd, name, sizeof(name) - 1,
				strings + (off_t)entries[i].d_un.d_val) > 0 &&
			(!strncmp(name, "libasan.so", 10) ||
				!strncmp(name, "libclang_rt.asan", 16));
	}
	return found;
}

static bool is_sanitized(const struct program *p)
{
	enum { ENTRIES = 48 }; /* the libraries are named first, and names lie soon behind them */
	Elf64_Dyn entries[ENTRIES];
	Elf64_Phdr dynamic;
	ssize_t bytes = find_segment(p, PT_DYNAMIC, 0, &dynamic)
				? pread(p->fd, entries, sizeof(entries), (off_t)dynamic.p_offset)
				: 0;

	return bytes > 0 && names_sanitizer(p, entries, (unsigned)bytes / sizeof(*entries));
}

/* Others than root get the capabilities of a file. */
static bool is_privileged(int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
				       ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
					       st.st_gid != getegid())))
		return true;
	return geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static enum brick__executable examine_elf(int fd, const Elf64_Ehdr *elf, ssize_t bytes)
{
	const struct program p = {fd, elf};
	Elf64_Phdr interpreter;

	if (bytes < (ssize_t)sizeof(*elf) || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
		(SYS_ELF_MACHINE != EM_NONE && elf->e_machine != SYS_ELF_MACHINE))
		return BRICK__EXECUTABLE_FOREIGN;
	if (elf->e_phentsize != sizeof(interpreter))
		return BRICK__EXECUTABLE_FINE;
	if (!find_segment(&p, PT_INTERP, 0, &interpreter))
		return BRICK__EXECUTABLE_STATIC;
	if (is_of_other_libc(&p, &interpreter))
		return BRICK__EXECUTABLE_OTHER_LIBC;
	if (is_privileged(fd))
		return BRICK__EXECUTABLE_PRIVILEGED;
	return is_sanitized(&p) ? BRICK__EXECUTABLE_SANITIZED : BRICK__EXECUTABLE_FINE;
}

/* "#!/path/to/program arguments": cut down to the path; false if it is none. */
static bool is_script(char *line, ssize_t bytes)
{
	if (bytes < 3 || memcmp(line, "#!", 2))
		return false;
	line[bytes] = '\0';
	char *begin = line + 2 + strspn(line + 2, " \t");
	size_t length = strcspn(begin, " \t\n");
	memmove(line, begin, length);
	line[length] = '\0';
	return length > 0;
}

enum brick__executable brick__executable_examine(const char *path)
{
	enum { NESTED = 4, LINE = 256 }; /* as the kernel */
	union {
		Elf64_Ehdr elf;
		char line[LINE];
	} head;
	enum brick__executable found = BRICK__EXECUTABLE_FINE;
	KEEP_ERRNO();

	for (int i = 0; path && i < NESTED; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return found;
		ssize_t bytes = pread(fd, &head, sizeof(head) - 1, 0);
		bool is_elf = bytes >= EI_NIDENT && !memcmp(head.line, ELFMAG, SELFMAG);
		if (is_elf)
			found = examine_elf(fd, &head.elf, bytes);
		close(fd);
		path = !is_elf && is_script(head.line, bytes) ? head.line : NULL;
	}
	return found;
}
