/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h on Linux: files in a directory, or memfd_create(2). */
#include "lib/sys/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/descriptor.h"
#include "base/file.h"
#include "base/scope.h"
#include "lib/sys/confined.h"

static bool is_file(const struct brick__shared *file, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (uint64_t)st.st_dev == file->device &&
	       (uint64_t)st.st_ino == file->inode;
}

/* Who is confined from the start has not changed it. */
static uid_t effective_user(void)
{
	return brick__sys_is_confined() ? (uid_t)getauxval(AT_EUID) : geteuid();
}

/*
 * A directory; is_private: its owner has closed it to others, and is the same user. -1 and errno.
 */
static int open_directory(const char *path, bool is_private, struct stat *st)
{
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (is_private ? O_NOFOLLOW : 0);
	int fd = open(path, flags);

	if (fd < 0 || fstat(fd, st))
		return -1;
	if (is_private && (st->st_uid != effective_user() || st->st_mode & (S_IRWXG | S_IRWXO))) {
		descriptor_close(fd, st);
		errno = EPERM;
		return -1;
	}
	return fd;
}

/*
 * Opens DIRECTORY/NAME as open(2) does, in that of a recorder only where nobody else may be; never
 * as one of the streams.
 */
static int open_path(const char *path, int flags, bool is_private)
{
	char directory[512];
	const char *name = strrchr(path, '/') + 1;
	struct streams_held streams;
	struct stat st;

	snprintf(directory, sizeof(directory), "%.*s", (int)(name - path - is_private), path);
	int in = open_directory(directory, is_private, &st);
	if (in < 0)
		return -1;
	streams_hold(&streams, in, &st);
	int fd = openat(in, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600), error = errno;
	streams_release(&streams);
	descriptor_close(in, &st);
	errno = error;
	return fd;
}

/* A descriptor to work with; end_use() gives it back. */
static int begin_use(struct brick__shared *file)
{
	int fd = file->fd;

	if (brick__sys_is_confined())
		return -EPERM;
	if (fd < 0 && !*file->path)
		return -ESTALE;
	if (fd < 0)
		fd = open_path(file->path, O_RDWR | O_NONBLOCK, file->is_private);
	if (fd < 0)
		return -errno;
	if (is_file(file, fd))
		return fd;
	struct stat another; /* in its place */
	if (fd != file->fd && !lstat(file->path, &another))
		descriptor_close(fd, &another);
	file->fd = -1; /* the number is the program's now */
	return -ESTALE;
}

/* What was opened for the use only is closed, unless the program has done that meanwhile. */
static void end_use(const struct brick__shared *file, int fd)
{
	if (fd >= 0 && fd != file->fd && is_file(file, fd))
		close(fd);
}

static int shared_join(char *path, size_t bytes, const char *directory, const char *name)
{
	int n = snprintf(path, bytes, "%s/%s", directory, name);

	return n < 0 || (size_t)n >= bytes ? -ENAMETOOLONG : 0;
}

static int open_new(struct brick__shared *file, const char *directory, const char *name)
{
	if (!directory)
		return memfd_create(name, MFD_CLOEXEC);
	if (shared_join(file->path, sizeof(file->path), directory, name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open_path(file->path, O_RDWR | O_CREAT | O_EXCL, file->is_private);
}

int brick__shared_create(
	struct brick__shared *out, const char *directory, const char *name, bool is_private)
{
	struct brick__shared file = {.fd = -1, .is_private = is_private};
	struct stat st = {0};
	KEEP_ERRNO();
	int fd = open_new(&file, directory, name);
	if (fd >= 0 && !directory)
		fd = descriptor_raise(fd);
	int error = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!error) {
		file.device = (uint64_t)st.st_dev;
		file.inode = (uint64_t)st.st_ino;
		file.fd = directory ? -1 : fd;
		*out = file;
	}
	if (error || directory)
		descriptor_close(fd, &st);
	return error;
}

int brick__shared_rename(struct brick__shared *file, const char *name)
{
	char path[sizeof(file->path)];
	const char *slash = strrchr(file->path, '/');
	KEEP_ERRNO();
	int n = snprintf(
		path, sizeof(path), "%.*s/%s", (int)(slash - file->path), file->path, name);
	int error = n < 0 || (size_t)n >= sizeof(path) ? -ENAMETOOLONG
		    : rename(file->path, path)	       ? -errno
						       : 0;

	if (!error)
		memcpy(file->path, path, sizeof(path));
	return error;
}

int brick__shared_extend(struct brick__shared *file, uint64_t bytes)
{
	struct stat st;
	KEEP_ERRNO();
	int fd = begin_use(file);
	int error = fd < 0 ? fd : 0;

	if (!error && fstat(fd, &st))
		error = -errno;
	if (!error && (uint64_t)st.st_size < bytes)
		error = !file_can_have(bytes) ? -EFBIG : ftruncate(fd, (off_t)bytes) ? -errno : 0;
	end_use(file, fd);
	return error;
}

int brick__shared_reserve(struct brick__shared *file, uint64_t offset, uint64_t bytes)
{
	KEEP_ERRNO();

	if (offset >= file->ready_from && offset + bytes <= file->ready_to)
		return 0;
	int fd = begin_use(file);
	int error = fd < 0 ? fd : 0;

	while (!error && fallocate(fd, 0, (off_t)offset, (off_t)bytes))
		if (errno != EINTR)
			error = -errno;
	end_use(file, fd);
	return error;
}

/*
 * Where a program has locked what it will ever map (mlockall(2)), the whole of a sparse file would
 * get memory at once. Pages that nobody may access get none.
 */
static void *map_unlocked(int fd, uint64_t offset, uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED)
		return at;
	munlock(at, bytes);
	if (!mprotect(at, bytes, PROT_READ | PROT_WRITE))
		return at;
	int error = errno;
	munmap(at, bytes);
	errno = error;
	return MAP_FAILED;
}

void *brick__shared_map(struct brick__shared *file, uint64_t offset, uint64_t bytes, int *error)
{
	KEEP_ERRNO();
	int fd = begin_use(file);
	void *at = MAP_FAILED;

	*error = fd < 0 ? fd : 0;
	if (!*error) {
		at = map_unlocked(fd, offset, bytes);
		*error = at == MAP_FAILED ? -errno : 0;
	}
	/* who lost the number meanwhile does not get it back: it is ours still, so what was mapped
	 * is */
	if (!*error && !is_file(file, fd)) {
		munmap(at, bytes);
		*error = -ESTALE;
	}
	end_use(file, fd);
	return *error ? NULL : at;
}

int brick__shared_keep(struct brick__shared *file)
{
	KEEP_ERRNO();
	int fd = begin_use(file);

	if (fd >= 0)
		file->fd = fd;
	return fd;
}

int brick__shared_open(struct brick__shared *file)
{
	KEEP_ERRNO();
	int fd = begin_use(file), copy = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (fd >= 0 && copy < 0)
		copy = -errno;
	end_use(file, fd);
	return copy;
}

void brick__shared_close(struct brick__shared *file)
{
	KEEP_ERRNO();

	if (file->fd >= 0 && is_file(file, file->fd))
		close(file->fd);
	file->fd = -1;
}

void brick__shared_unlink(struct brick__shared *file)
{
	struct stat st;
	KEEP_ERRNO();

	if (*file->path && !lstat(file->path, &st) && (uint64_t)st.st_dev == file->device &&
		(uint64_t)st.st_ino == file->inode)
		unlink(file->path);
}

/* Where the recorders' directories lie, as the process saw it when it could first open one. */
static struct {
	uint64_t device, inode; /* 0: it was not seen yet */
} shared_place;

static bool shared_sees_place(const char *directory, bool is_first)
{
	const char *slash = strrchr(directory, '/');
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%.*s", slash ? (int)(slash - directory) : 0, directory);
	if (stat(path, &st))
		return false;
	if (is_first) {
		shared_place.device = (uint64_t)st.st_dev;
		__atomic_store_n(&shared_place.inode, (uint64_t)st.st_ino, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&shared_place.inode, __ATOMIC_ACQUIRE) == (uint64_t)st.st_ino &&
	       shared_place.device == (uint64_t)st.st_dev;
}

void *brick__shared_attach(const char *directory, const char *name, uint64_t bytes)
{
	char path[512];
	struct stat st = {0};
	void *at = MAP_FAILED;
	KEEP_ERRNO();
	int fd = shared_join(path, sizeof(path), directory, name)
			 ? -1
			 : open_path(path, O_RDWR | O_NONBLOCK, true);

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= bytes)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	descriptor_close(fd, &st);
	if (at == MAP_FAILED)
		return NULL;
	if (!__atomic_load_n(&shared_place.inode, __ATOMIC_ACQUIRE))
		shared_sees_place(directory, true);
	return at;
}

int brick__shared_tell(const char *directory, const void *message, size_t bytes)
{
	const char *slash = strrchr(directory, '/'), *name = slash ? slash + 1 : directory;
	const struct timeval patience = {1, 0};
	struct sockaddr_un to = {.sun_family = AF_UNIX}; /* sun_path[0] is 0: abstract */
	size_t length = strlen(name);
	struct stat st = {0};
	KEEP_ERRNO();

	if (length >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	if (brick__sys_is_confined())
		return -EPERM;
	memcpy(to.sun_path + 1, name, length);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	ssize_t sent = sendto(fd, message, bytes, MSG_NOSIGNAL, (struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	int error = sent == (ssize_t)bytes ? 0 : -errno;
	descriptor_close(fd, &st);
	return error;
}

bool brick__shared_is_held(const char *directory, const char *name)
{
	char path[512];
	struct stat st = {0};
	KEEP_ERRNO();
	int fd = shared_join(path, sizeof(path), directory, name)
			 ? -1
			 : open_path(path, O_RDONLY | O_NONBLOCK, true);
	/* where we cannot look (no descriptors left, another root), who said so is believed */
	bool is_gone = fd < 0 && errno == ENOENT && shared_sees_place(directory, false);
	bool held = !is_gone && (fd < 0 || fstat(fd, &st) || flock(fd, LOCK_SH | LOCK_NB));

	descriptor_close(fd, &st);
	return held;
}
