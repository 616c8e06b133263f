/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the kind of a file from its first bytes, and hands it to the reader of that kind. */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "brick/error.h"

enum { HEAD_BYTES = 4096 }; /* that tell the kind of a file */

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

/* True if the text is found in the first bytes of the file. */
static bool import_begins_with(const char *text, size_t bytes, const char *what)
{
	return memmem(text, bytes < 1024 ? bytes : 1024, what, strlen(what));
}

struct import_packed {
	struct imported *im;
	gzFile file;
	uint64_t bytes; /* of the file, packed */
};

static int import_unpack(void *from, char *to, size_t bytes)
{
	const struct import_packed *p = from;
	int got = gzread(p->file, to, bytes > INT_MAX ? INT_MAX : (unsigned)bytes);
	z_off_t at = gzoffset(p->file);

	if (at > 0 && (uint64_t)at <= p->bytes)
		p->im->parts_done = (uint32_t)(IMPORT_PARTS_READ * (uint64_t)at / p->bytes);
	return got;
}

/* JSON, packed by gzip or not. */
static int import_json(
	struct imported *im, const char *path, uint64_t bytes, struct import_error *error)
{
	struct import_packed packed = {im, gzopen(path, "rb"), bytes};

	if (!packed.file)
		return cannot_read(error, errno);
	gzbuffer(packed.file, 1 << 18);
	int result = import_chrome(
		im, &(struct import_source){.read = import_unpack, .from = &packed}, error);
	gzclose(packed.file);
	return result;
}

/* A file that no reader here takes: a sentence that says what it is; NULL: it may be JSON. */
static const char *import_foreign(const char *text, size_t bytes)
{
	static const struct {
		const char *begin, *what;
	} known[] = {
		{"speedscope.app/file-format",
			"it is a profile of speedscope, which has stacks and no "
			"times of operations"},
		{"# ========", "it is the text of 'perf script', which has stacks and no times of "
			       "operations"},
		{"PK\x03\x04", "it is a zip archive: unpack it first"},
		{"\x28\xb5\x2f\xfd", "it is compressed by zstd: unpack it first (zstd -d)"},
		{"\xfd"
		 "7zXZ",
			"it is compressed by xz: unpack it first (xz -d)"},
		{"BZh", "it is compressed by bzip2: unpack it first (bunzip2)"},
		{"NSYS", "it is Nsight Systems' own report: export it first (nsys export --type "
			 "sqlite)"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].begin);
		if (i ? bytes >= length && !memcmp(text, known[i].begin, length)
		      : import_begins_with(text, bytes, known[i].begin))
			return known[i].what;
	}
	if (bytes < 4 || (unsigned char)text[0] != 0x0a || strchr("[{ \t\r\n", text[1]))
		return NULL;
	return "it is a Perfetto trace: 'brick report' reads it as it is if Brick recorded it, and "
	       "import reads JSON, SQLite and CSV";
}

static int read_mapped(struct imported *im, const char *path, const char *text, size_t bytes,
	struct import_error *error)
{
	if (bytes >= 16 && !memcmp(text, "SQLite format 3", 16))
		return import_nsight(im, path, error);
	if (bytes >= 2 && !memcmp(text, "\x1f\x8b", 2))
		return import_json(im, path, bytes, error);
	size_t head = bytes < HEAD_BYTES ? bytes : HEAD_BYTES;
	const char *end = memchr(text, '\n', head);
	if (memmem(text, end ? (size_t)(end - text) : head, "Start_Timestamp", 15) && *text != '{')
		return import_rocprof_csv(im, text, bytes, error);
	/* field 1 of a protobuf: planes of an XSpace, or packets of a Perfetto trace */
	if (text[0] == 0x0a && (import_begins_with(text, bytes, "/device:") ||
				       import_begins_with(text, bytes, "/host:") ||
				       import_begins_with(text, bytes, "Task Environment")))
		return import_xplane(im, text, bytes, error);
	const char *foreign = import_foreign(text, bytes);
	if (foreign)
		return format_error(error, foreign);
	return import_json(im, path, bytes, error);
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
