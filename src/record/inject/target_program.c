/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's ELF header tells beforehand what the dynamic linker would only complain about, on
 * the program's own stderr.
 */
#include "record/inject/target_program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "lib/sys/elf.h"

static int is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

int inject_resolve(const char *command, char *path, size_t bytes)
{
	const char *list = getenv("PATH");

	if (strchr(command, '/'))
		return snprintf(path, bytes, "%s", command) < (int)bytes && is_program(path);
	for (const char *at = list ? list : "/bin:/usr/bin"; at;) {
		int length = (int)strcspn(at, ":");
		int n = snprintf(
			path, bytes, "%.*s/%s", length ? length : 1, length ? at : ".", command);
		if (n > 0 && n < (int)bytes && is_program(path))
			return 1;
		at = at[length] ? at + length + 1 : NULL;
	}
	return 0;
}

/*
 * The file name of the dynamic linker that an ELF file of our own kind asks for: 0 if it asks for
 * none; "" when in doubt.
 */
static int read_interpreter(int fd, const Elf64_Ehdr *elf, char *name, size_t bytes)
{
	char path[PATH_MAX] = "";
	Elf64_Phdr segment;

	*name = '\0';
	if (elf->e_phentsize != sizeof segment)
		return 1;
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		off_t offset = (off_t)(elf->e_phoff + i * sizeof segment);
		if (pread(fd, &segment, sizeof segment, offset) != (ssize_t)sizeof segment)
			return 1;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz < sizeof path &&
			pread(fd, path, segment.p_filesz, (off_t)segment.p_offset) > 0)
			snprintf(name, bytes, "%s",
				strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
		return 1;
	}
	return 0;
}

/* Each C library comes with a dynamic linker of its own. */
static int is_of_other_libc(const char *interpreter)
{
	char own[NAME_MAX] = "";
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr elf;

	if (fd < 0)
		return 0;
	if (pread(fd, &elf, sizeof elf, 0) == (ssize_t)sizeof elf)
		read_interpreter(fd, &elf, own, sizeof own);
	close(fd);
	return *own && *interpreter && strcmp(own, interpreter);
}

static enum inject_obstacle examine_open(int fd)
{
	char interpreter[NAME_MAX];
	Elf64_Ehdr elf;
	struct stat st;
	ssize_t n = pread(fd, &elf, sizeof elf, 0);

	if (n < EI_NIDENT || memcmp(elf.e_ident, ELFMAG, SELFMAG))
		return INJECT_FINE;
	if (n < (ssize_t)sizeof elf || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
		(SYS_ELF_MACHINE != EM_NONE && elf.e_machine != SYS_ELF_MACHINE))
		return INJECT_FOREIGN;
	if (!read_interpreter(fd, &elf, interpreter, sizeof interpreter))
		return INJECT_STATIC;
	if (is_of_other_libc(interpreter))
		return INJECT_OTHER_LIBC;
	if (fstat(fd, &st) == 0 && (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
					   ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
						   st.st_gid != getegid())))
		return INJECT_PRIVILEGED;
	/* Others than root get the capabilities of the file. */
	if (geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return INJECT_PRIVILEGED;
	return INJECT_FINE;
}

enum inject_obstacle inject_examine(const char *program)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return INJECT_FINE;
	enum inject_obstacle obstacle = examine_open(fd);
	close(fd);
	return obstacle;
}
