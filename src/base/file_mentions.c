/* SPDX-License-Identifier: Apache-2.0 */
/* A large file is searched only if its tables of names mention the text: libtorch_cpu has 400 MB.
 */
#include "base/file_mentions.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Do the tables of an ELF file that hold names mention the text? True also if there are none. */
static bool names_mention(const char *data, size_t bytes, const char *text)
{
	Elf64_Ehdr elf;
	Elf64_Shdr section;
	bool is_known = false;

	memcpy(&elf, data, sizeof(elf));
	for (unsigned i = 0; i < elf.e_shnum; i++) {
		uint64_t at = elf.e_shoff + i * sizeof(section);
		if (elf.e_shoff > bytes || at + sizeof(section) > bytes)
			return true;
		memcpy(&section, data + at, sizeof(section));
		if (section.sh_type != SHT_STRTAB || section.sh_offset > bytes ||
			section.sh_size > bytes - section.sh_offset)
			continue;
		is_known = true;
		if (memmem(data + section.sh_offset, section.sh_size, text, strlen(text)))
			return true;
	}
	return !is_known;
}

bool file_mentions(const char *path, const char *text)
{
	enum { LARGE = 64 << 20 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool found = false;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED) {
			found = (st.st_size < LARGE ||
					names_mention(data, (size_t)st.st_size, text)) &&
				memmem(data, (size_t)st.st_size, text, strlen(text));
			munmap(data, (size_t)st.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}
