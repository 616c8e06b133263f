/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brick/error.h"

static int cannot_read(struct import_error *error, int why)
{
	snprintf(error->text, sizeof(error->text), "%s", strerror(why));
	return -why;
}

static int format_error(struct import_error *error, const char *why)
{
	snprintf(error->text, sizeof(error->text), "byte 0: %s", why);
	return BRICK_EFORMAT;
}

static int read_mapped(struct imported *im, const char *path, const char *text, size_t bytes,
	struct import_error *error)
{
	if (bytes >= 16 && !memcmp(text, "SQLite format 3", 16))
		return import_nsight(im, path, error);
	if (bytes >= 2 && !memcmp(text, "\x1f\x8b", 2))
		return format_error(error, "it is compressed: gunzip it first");
	if (bytes >= 4 && (unsigned char)text[0] == 0x0a && !strchr("[{ \t\r\n", text[1]))
		return format_error(
			error, "this may be a recording already: 'brick report' reads it as it is");
	return import_chrome(im, text, bytes, error);
}

int import_read(struct imported *im, const char *path, struct import_error *error)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return cannot_read(error, errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return S_ISDIR(st.st_mode) ? cannot_read(error, EISDIR)
					   : format_error(error, "it is no regular file");
	}
	if (!st.st_size) {
		close(fd);
		return format_error(error, "the file is empty");
	}
	size_t bytes = (size_t)st.st_size;
	/* a page more, so that a text that fills its last page has an end, too */
	long page = sysconf(_SC_PAGESIZE);
	char *text =
		mmap(NULL, bytes + (size_t)page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED ||
		mmap(text, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
		int why = errno;
		close(fd);
		if (text != MAP_FAILED)
			munmap(text, bytes + (size_t)page);
		return cannot_read(error, why);
	}
	close(fd);
	int result = read_mapped(im, path, text, bytes, error);
	munmap(text, bytes + (size_t)page);
	return result;
}
