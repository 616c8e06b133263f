/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PATH.part is always created anew and locked. Only a recording that was given up, one without a
 * lock, is replaced.
 */
#include "lib/writer/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/descriptor.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/path_name.h"
#include "base/scope.h"
#include "base/thread.h"

enum { MAX_TRIES = 100 };

/*
 * A thread that waits for the disk, so that nobody else has to. It is told a descriptor, not a
 * file: in a program that embeds us the number may have become another file's. To sync that harms
 * nothing, and says nothing of ours.
 */
struct part_sync {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* under the lock */
	int fd; /* to be synced; -1: none */
	bool stopping;
	int error;
};

static int disk_error(int fd)
{
	if (!fdatasync(fd))
		return 0;
	return errno == EIO || errno == ENOSPC || errno == EDQUOT ? -errno : 0;
}

static void *part_file_run(void *argument)
{
	struct part_sync *s = argument;

	pthread_setname_np(pthread_self(), "brick-sync");
	lock_take(&s->lock);
	while (s->fd >= 0 || !s->stopping) {
		int fd = s->fd;
		if (fd < 0) {
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		s->fd = -1;
		lock_give(&s->lock);
		int error = disk_error(fd);
		lock_take(&s->lock);
		if (!s->error)
			s->error = error;
	}
	lock_give(&s->lock);
	return NULL;
}

static void sync_free(struct part_sync *s)
{
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* NULL: there is no memory or thread to be had. */
static struct part_sync *part_sync_create(void)
{
	struct part_sync *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	if (thread_start(&s->thread, NULL, 0, part_file_run, s)) {
		sync_free(s);
		return NULL;
	}
	return s;
}

static void part_sync_request(struct part_sync *s, int fd)
{
	HOLD_UNCANCELLED(&s->lock);
	s->fd = fd;
	pthread_cond_signal(&s->wake);
}

/* The disk's first error, or 0. NULL is legal. */
static int part_sync_error(struct part_sync *s)
{
	if (!s)
		return 0;
	HOLD_UNCANCELLED(&s->lock);
	int error = s->error;
	return error;
}

/* End the thread, once what was asked for is done; returns the first error. NULL is legal. */
static int part_sync_destroy(struct part_sync *s)
{
	if (!s)
		return 0;
	lock_take(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->wake);
	lock_give(&s->lock);
	pthread_join(s->thread, NULL);
	int error = s->error;
	sync_free(s);
	return error;
}

struct part_file {
	int fd; /* -1: the program has closed it */
	dev_t device;
	ino_t inode;
	uint64_t size, synced; /* of whole packets */
	char *path, *part;     /* absolute: the program may change its directory */
	struct part_sync *sync;
};

static bool part_file_is_same(const struct stat *st, const struct part_file *f)
{
	return st->st_dev == f->device && st->st_ino == f->inode;
}

static char *part_file_join(const char *a, const char *b, const char *c)
{
	size_t bytes = strlen(a) + strlen(b) + strlen(c) + 1;
	char *text = malloc(bytes);

	if (text)
		snprintf(text, bytes, "%s%s%s", a, b, c);
	return text;
}

/* The finished file is renamed to PATH, which would replace a device as readily as a recording. */
static int part_file_resolve(struct part_file *f, const char *path)
{
	char directory[PATH_MAX] = "";
	struct stat st;

	if (!*path)
		return -ENOENT;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		return -ELOOP;
	if (path[strlen(path) - 1] == '/')
		return -EISDIR;
	if (path[0] != '/' && !getcwd(directory, sizeof(directory)))
		return -errno;
	f->path = part_file_join(directory, *directory ? "/" : "", path);
	f->part = f->path ? part_file_join(f->path, ".part", "") : NULL;
	return f->part ? 0 : -ENOMEM;
}

/* The lock is this process's alone: a forked child does not share it. */
static int part_file_lock(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	/* a file system without locks does not keep us from recording */
	return fcntl(fd, F_SETLK, &whole) < 0 && (errno == EACCES || errno == EAGAIN) ? -EBUSY : 0;
}

bool part_file_grows(const char *path)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	SCOPED char *part = part_file_join(path, ".part", "");
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && part)
		fd = open(part, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return true;
	int rc = fcntl(fd, F_GETLK, &whole);
	close(fd);
	return rc < 0 || whole.l_type != F_UNLCK;
}

/* Somebody else's file has the name, or no file: -ESTALE. */
static int check_name(const struct part_file *f, const char *name)
{
	struct stat st;

	return lstat(name, &st) || !part_file_is_same(&st, f) || (uint64_t)st.st_size != f->size
		       ? -ESTALE
		       : 0;
}

/* Remove a recording that nobody writes any more. -EAGAIN: it is gone; then try again. */
static int part_file_remove_stale(const char *part)
{
	struct stat seen, opened;

	if (lstat(part, &seen))
		return errno == ENOENT ? -EAGAIN : -errno;
	if (!S_ISREG(seen.st_mode) || seen.st_uid != geteuid() || seen.st_nlink != 1)
		return -EEXIST;
	int fd = open(part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	int error = part_file_lock(fd);
	/* another recorder may have put its own there before we had the lock */
	if (!error && !fstat(fd, &opened) && !lstat(part, &seen) && seen.st_dev == opened.st_dev &&
		seen.st_ino == opened.st_ino && unlink(part))
		error = -errno;
	close(fd);
	return error ? error : -EAGAIN;
}

/* Until we have the lock, another recorder may take the file for given up, and remove it. */
static int create_new(struct part_file *f)
{
	struct stat st;
	int fd = open(f->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	f->fd = descriptor_raise(fd);
	if (fstat(f->fd, &st))
		return -errno;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	if (!part_file_lock(f->fd) && !check_name(f, f->part))
		return 0;
	close(f->fd);
	f->fd = -1;
	return -EAGAIN;
}

static int part_file_create(struct part_file *f)
{
	int error = -EAGAIN;

	for (int i = 0; i < MAX_TRIES && error == -EAGAIN; i++) {
		error = create_new(f);
		if (error == -EEXIST)
			error = part_file_remove_stale(f->part);
	}
	return error;
}

/* Closes nothing that has become the program's. */
static void part_file_destroy(struct part_file *f)
{
	struct stat st;

	part_sync_destroy(f->sync);
	if (f->fd >= 0 && !fstat(f->fd, &st) && part_file_is_same(&st, f))
		close(f->fd);
	free(f->path);
	free(f->part);
	free(f);
}

int part_file_open(struct part_file **out, const char *path)
{
	struct part_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = -1;
	int error = part_file_resolve(f, path);
	if (!error)
		error = part_file_create(f);
	if (error)
		part_file_destroy(f);
	else
		*out = f;
	return error;
}

static int reopen(struct part_file *f)
{
	struct stat st;
	int fd = open(f->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? -ESTALE : -errno;
	int error = fstat(fd, &st) || !part_file_is_same(&st, f) ? -ESTALE : 0;
	if (!error) {
		fd = descriptor_raise(fd);
		error = part_file_lock(fd);
	}
	if (error)
		close(fd);
	else
		f->fd = fd;
	return error;
}

/* Is the descriptor still the file's, and the file as we left it? */
static int part_file_check(struct part_file *f)
{
	struct stat st;
	int error = 0;

	if (f->fd < 0 || fstat(f->fd, &st) || !part_file_is_same(&st, f)) {
		f->fd = -1;
		error = reopen(f);
	}
	if (!error && fstat(f->fd, &st))
		error = -errno;
	return error ? error : (uint64_t)st.st_size == f->size ? 0 : -ESTALE;
}

int part_file_write(struct part_file *f, const void *data, size_t bytes)
{
	int error = part_sync_error(f->sync);

	if (!error)
		error = part_file_check(f);
	if (!error && !file_can_have(f->size + bytes))
		error = -EFBIG;
	if (error)
		return error;
	error = file_write_at(f->fd, data, bytes, f->size);
	if (!error)
		f->size += bytes;
	else if (ftruncate(f->fd, (off_t)f->size)) /* back to the last whole packet */
		return error;			   /* readers stop there by themselves */
	return error;
}

void part_file_sync_prepare(struct part_file *f)
{
	if (!f->sync)
		f->sync = part_sync_create();
}

void part_file_sync(struct part_file *f)
{
	if (f->synced == f->size || part_file_check(f))
		return;
	part_file_sync_prepare(f);
	if (f->sync)
		part_sync_request(f->sync, f->fd);
	else
		fdatasync(f->fd);
	f->synced = f->size;
}

/* So that the name lasts as well; what cannot be synced (EINVAL) is none of our errors. */
static int sync_directory(const char *path)
{
	char directory[PATH_MAX];
	int length = (int)(strrchr(path, '/') - path), error = 0;

	snprintf(directory, sizeof(directory), "%.*s/", length, path);
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (fsync(fd) && errno == EIO)
		error = -EIO;
	close(fd);
	return error;
}

static int name_whole(struct part_file *f)
{
	int error = part_file_check(f);

	if (!error && fsync(f->fd) && errno != EINVAL && errno != EROFS)
		error = -errno;
	if (!error)
		error = check_name(f, f->part);
	if (!error && rename(f->part, f->path))
		error = errno == ENOENT ? -ESTALE : -errno; /* it was there a moment ago */
	if (!error)
		error = check_name(f, f->path);
	return error ? error : sync_directory(f->path);
}

int part_file_finish(struct part_file *f)
{
	int error = part_sync_destroy(f->sync);

	f->sync = NULL;
	if (!error)
		error = name_whole(f);
	part_file_destroy(f);
	return error;
}

void part_file_remove(struct part_file *f)
{
	if (!f)
		return;
	if (!check_name(f, f->part))
		unlink(f->part);
	part_file_destroy(f);
}

void part_file_leave(struct part_file *f)
{
	if (f && !f->size)
		part_file_remove(f);
	else if (f)
		part_file_destroy(f);
}

/* NULL: it is a file of ours alone. */
static const char *part_file_kind_of(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1 ? NULL
	       : S_ISLNK(st->st_mode)	 ? "a symbolic link"
	       : S_ISDIR(st->st_mode)	 ? "a directory"
	       : S_ISFIFO(st->st_mode)	 ? "a pipe"
	       : !S_ISREG(st->st_mode)	 ? "a device or socket"
	       : st->st_uid != geteuid() ? "another user's file"
					 : "a file with other names (hard links)";
}

int part_file_explain(const char *path, int error, char *text, size_t bytes)
{
	char part[PATH_MAX], folder[PATH_MAX];
	const char *kind = NULL, *wrong = NULL;
	struct stat st;

	snprintf(part, sizeof(part), "%s.part", path);
	snprintf(folder, sizeof(folder), "%.*s", (int)(path_name(path) - path), path);
	for (int i = 0; i < 2 && !kind && error == -EEXIST; i++) {
		wrong = i ? path : part;
		kind = lstat(wrong, &st) ? NULL : part_file_kind_of(&st);
	}
	if (error == -ESTALE && *folder && lstat(folder, &st) && errno == ENOENT)
		snprintf(text, bytes, "its directory %s was removed meanwhile", folder);
	else if (error == -EBUSY)
		snprintf(text, bytes, "another recording is being written there");
	else if (error == -EINVAL)
		snprintf(text, bytes, "not a regular file");
	else if (error == -ELOOP)
		snprintf(text, bytes,
			"a symbolic link, which the recording would replace: name its target");
	else if (kind)
		snprintf(text, bytes,
			"%s is %s, which a recording does not replace: remove it, or choose "
			"another name",
			wrong, kind);
	else if (error == -ESTALE)
		snprintf(text, bytes,
			"%s was removed, replaced or changed by somebody else meanwhile", part);
	else
		return 0;
	return 1;
}
