/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a recording, and why it cannot be loaded, in words. */
#include "ui/text/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "brick/error.h"
#include "ui/text/text.h"

char *recording_fault(int rc, const struct load_error *error)
{
	if (rc == -ENOENT)
		return text_copy("no such file; 'brick record' writes one");
	if (rc == -ENOMEM)
		return text_copy("not enough memory to load it");
	if (rc == BRICK_EFORMAT || rc == BRICK_EVERSION)
		return text_format("at byte %llu: %s", (unsigned long long)error->offset,
			error->text[0] ? error->text : brick_strerror(rc));
	return text_copy(brick_strerror(rc));
}

bool recording_stat(const char *path, struct stat *st, bool *is_part)
{
	*is_part = false;
	if (stat(path, st) == 0)
		return true;
	SCOPED char *part = text_format("%s.part", path);
	*is_part = stat(part, st) == 0;
	return *is_part;
}

/* A writer holds a lock on its file (src/lib/writer/part_file.h). */
bool recording_is_written(const char *path)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		SCOPED char *part = text_format("%s.part", path);
		fd = open(part, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	bool is_free = fd >= 0 && !fcntl(fd, F_GETLK, &whole) && whole.l_type == F_UNLCK;

	if (fd >= 0)
		close(fd);
	return !is_free;
}

bool recording_changed(const struct stat *a, const struct stat *b)
{
	return a->st_dev != b->st_dev || a->st_ino != b->st_ino || a->st_size != b->st_size ||
	       a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}
