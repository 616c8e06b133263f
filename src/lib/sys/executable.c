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

enum { SEGMENTS = 64, ENTRIES = 64 };

struct program {
	int fd;
	unsigned count; /* of segments */
	Elf64_Phdr segments[SEGMENTS];
};

/* False if there is more of them, or less in the file. */
static bool read_segments(struct program *p, int fd, const Elf64_Ehdr *elf)
{
	size_t bytes = elf->e_phnum * sizeof(*p->segments);

	p->fd = fd;
	p->count = elf->e_phnum;
	return elf->e_phentsize == sizeof(*p->segments) && elf->e_phnum <= SEGMENTS &&
	       pread(fd, p->segments, bytes, (off_t)elf->e_phoff) == (ssize_t)bytes;
}

static const Elf64_Phdr *segment(const struct program *p, Elf64_Word type)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->segments[i].p_type == type)
			return &p->segments[i];
	return NULL;
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
	for (unsigned i = 0; i < p->count; i++) {
		const Elf64_Phdr *s = &p->segments[i];
		if (s->p_type == PT_LOAD && address - s->p_vaddr < s->p_filesz)
			return (off_t)(address - s->p_vaddr + s->p_offset);
	}
	return -1;
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
	const Elf64_Phdr *dynamic = segment(p, PT_DYNAMIC);
	Elf64_Dyn entries[ENTRIES]; /* the libraries are named first */
	ssize_t bytes =
		dynamic ? pread(p->fd, entries, sizeof(entries), (off_t)dynamic->p_offset) : 0;

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
	struct program p;

	if (bytes < (ssize_t)sizeof(*elf) || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
		(SYS_ELF_MACHINE != EM_NONE && elf->e_machine != SYS_ELF_MACHINE))
		return BRICK__EXECUTABLE_FOREIGN;
	if (!read_segments(&p, fd, elf))
		return BRICK__EXECUTABLE_FINE;
	const Elf64_Phdr *interpreter = segment(&p, PT_INTERP);
	if (!interpreter)
		return BRICK__EXECUTABLE_STATIC;
	if (is_of_other_libc(&p, interpreter))
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
	enum { NESTED = 4 }; /* as the kernel */
	union {
		Elf64_Ehdr elf;
		char line[PATH_MAX];
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
