/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's ELF header tells beforehand what the dynamic linker would only complain about, on
 * the program's own stderr.
 */
#include "inject/program.h"

#include <elf.h>
#include <fcntl.h>
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

/* Does an ELF file of our own kind name a dynamic linker? 1 when in doubt. */
static int has_interpreter(int fd, const Elf64_Ehdr *elf)
{
	Elf64_Phdr segment;

	if (elf->e_phentsize != sizeof segment)
		return 1;
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		off_t offset = (off_t)(elf->e_phoff + i * sizeof segment);
		if (pread(fd, &segment, sizeof segment, offset) != (ssize_t)sizeof segment)
			return 1;
		if (segment.p_type == PT_INTERP)
			return 1;
	}
	return 0;
}

static enum inject_obstacle examine_open(int fd)
{
	Elf64_Ehdr elf;
	struct stat st;
	ssize_t n = pread(fd, &elf, sizeof elf, 0);

	if (n < EI_NIDENT || memcmp(elf.e_ident, ELFMAG, SELFMAG))
		return INJECT_FINE;
	if (n < (ssize_t)sizeof elf || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
		(SYS_ELF_MACHINE != EM_NONE && elf.e_machine != SYS_ELF_MACHINE))
		return INJECT_FOREIGN;
	if (!has_interpreter(fd, &elf))
		return INJECT_STATIC;
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
