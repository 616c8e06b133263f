/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloading: libbrick-ggml.so and its kin lie in ../lib beside the bin directory of this program,
 * or in a multiarch directory below that. The program's ELF header tells beforehand what the
 * dynamic linker would only complain about, on the program's own stderr.
 */
#include "inject/inject.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libbrick-ggml.so"

#if defined(__x86_64__)
#define MULTIARCH_LIB "../lib/x86_64-linux-gnu"
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
#define MULTIARCH_LIB "../lib/aarch64-linux-gnu"
enum { OWN_MACHINE = EM_AARCH64 };
#else
#define MULTIARCH_LIB "../lib"
enum { OWN_MACHINE = EM_NONE };
#endif

static enum inject_obstacle find_library(const char *name, char *path, size_t bytes)
{
	static const char *const places[] = {"../lib", MULTIARCH_LIB, "../lib64"};
	char own[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	char *slash;

	own[n > 0 ? n : 0] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return INJECT_NO_LIBRARY;
	*slash = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(candidate, sizeof candidate, "%s/%s/%s", own, places[i], name);
		if (!realpath(candidate, real))
			continue;
		if (strpbrk(real, " :\t\n"))
			return INJECT_BAD_PATH;
		return snprintf(path, bytes, "%s", real) < (int)bytes ? INJECT_FINE
								      : INJECT_BAD_PATH;
	}
	return INJECT_NO_LIBRARY;
}

enum inject_obstacle inject_library(char *path, size_t bytes)
{
	return find_library(LIBRARY, path, bytes);
}

int inject_further(const char *name, char *path, size_t bytes)
{
	return find_library(name, path, bytes) == INJECT_FINE;
}

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
		(OWN_MACHINE != EM_NONE && elf.e_machine != OWN_MACHINE))
		return INJECT_FOREIGN;
	if (!has_interpreter(fd, &elf))
		return INJECT_STATIC;
	if (fstat(fd, &st) == 0 && (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
					   ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
						   st.st_gid != getegid())))
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

const char *inject_obstacle_text(enum inject_obstacle obstacle)
{
	switch (obstacle) {
	case INJECT_FINE:
		break;
	case INJECT_NO_LIBRARY:
		return LIBRARY " was not found beside this program (in ../lib)";
	case INJECT_BAD_PATH:
		return "the path of " LIBRARY " holds a space or colon, or is too long";
	case INJECT_STATIC:
		return "the program is linked statically, so that nothing can be preloaded";
	case INJECT_FOREIGN:
		return "the program is not a 64-bit program of this kind of CPU";
	case INJECT_PRIVILEGED:
		return "the program changes its user or group, so that nothing can be preloaded";
	}
	return "";
}
