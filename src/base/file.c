/* SPDX-License-Identifier: Apache-2.0 */
/* Small files, read and written whole. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/descriptor.h"

/* Reads up to `bytes` bytes from an offset on, and adds a NUL behind; returns how many they were.
 */
static size_t file_read_at(int fd, char *out, size_t bytes, uint64_t offset)
{
	ssize_t got = 1;
	size_t n = 0;

	while (got > 0 && n < bytes) {
		got = pread(fd, out + n, bytes - n, (off_t)(offset + n));
		n += got > 0 ? (size_t)got : 0;
		got = got < 0 && errno == EINTR ? 1 : got;
	}
	out[n] = '\0';
	return n;
}

size_t file_begin(const char *path, char *out, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = {0};
	bool is_open = fd >= 0 && !fstat(fd, &st);
	size_t n = file_read_at(fd, out, is_open ? bytes - 1 : 0, 0);

	descriptor_close(fd, &st);
	return n;
}

static bool file_line_has(const char *line, const char *key, char *out, size_t bytes)
{
	size_t length = strlen(key);

	if (strncmp(line, key, length) != 0)
		return false;
	line += length + strspn(line + length, " \t");
	if (*line != ':')
		return false;
	snprintf(out, bytes, "%s", line + 1 + strspn(line + 1, " \t"));
	return true;
}

/* A process's status has all its groups in one line, which may be longer than the text. */
void file_field(const char *path, const char *key, char *out, size_t bytes)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = {0};
	bool is_over = fd < 0 || fstat(fd, &st), is_middle = false; /* of a line */
	uint64_t offset = 0;

	while (!is_over) {
		size_t n = file_read_at(fd, text, sizeof(text) - 1, offset);
		char *line = text, *end;
		is_over = n < sizeof(text) - 1;
		/* a line that begins in the text's middle, and is not whole, is read again */
		while (line < text + n && ((end = strchr(line, '\n')) || line == text || is_over)) {
			if (end)
				*end = '\0';
			if (!is_middle && file_line_has(line, key, out, bytes)) {
				is_over = true;
				break;
			}
			is_middle = !end;
			line = end ? end + 1 : text + n;
		}
		offset += (uint64_t)(line - text);
	}
	descriptor_close(fd, &st);
}

void file_link(const char *path, char *out, size_t bytes)
{
	ssize_t n = readlink(path, out, bytes - 1);

	out[n > 0 ? n : 0] = '\0';
}

int file_line(const char *path, char *out, size_t bytes)
{
	size_t n = file_begin(path, out, bytes);

	out[strcspn(out, "\n")] = '\0';
	return n > 0;
}

static int read_stream(FILE *in, char *text, size_t *bytes, size_t most)
{
	struct stat st;

	if (!fstat(fileno(in), &st) && S_ISREG(st.st_mode) && st.st_size > (off_t)most)
		return -EFBIG;
	errno = 0;
	*bytes = fread(text, 1, most + 1, in);
	if (ferror(in))
		return errno ? -errno : -EIO;
	if (*bytes > most)
		return -EFBIG;
	text[*bytes] = '\0';
	return 0;
}

int file_read(char **text, size_t *bytes, const char *path, size_t most)
{
	FILE *in = fopen(path, "re");

	if (!in)
		return errno == ENOTDIR ? -ENOENT : -errno; /* HOME=/dev/null: there is none */
	char *room = malloc(most + 1);
	int rc = room ? read_stream(in, room, bytes, most) : -ENOMEM;
	fclose(in);
	if (rc < 0)
		free(room);
	else
		*text = room;
	return rc;
}

char *file_end(const char *path, size_t most)
{
	FILE *in = fopen(path, "re");
	char *text = in ? malloc(most + 1) : NULL;
	size_t n = 0;

	if (text && (!fseek(in, -(long)most, SEEK_END) || !fseek(in, 0, SEEK_SET)))
		n = fread(text, 1, most, in);
	if (in)
		fclose(in);
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	if (text)
		text[n] = '\0';
	return text;
}

static int file_write(const char *path, const char *text)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	int rc = 0;

	if (!out)
		return -errno;
	if (fputs(text, out) < 0 || fflush(out) || fdatasync(fd))
		rc = errno ? -errno : -EIO;
	if (fclose(out) && !rc)
		rc = -errno;
	return rc;
}

int file_replace(const char *path, const char *text)
{
	char *part = NULL;

	if (asprintf(&part, "%s.%d.part", path, (int)getpid()) < 0)
		return -ENOMEM;
	int rc = file_write(part, text);
	if (!rc && rename(part, path))
		rc = -errno;
	if (rc)
		unlink(part);
	free(part);
	return rc;
}

bool file_can_have(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       bytes <= limit.rlim_cur;
}

int file_write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = pwrite(fd, at, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}
