/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session directories: brick-PID-STARTTIME-XXXXXX with the first recorder's pid and start time,
 * mode 0700. The recorder holds a lock on the file `recorder`, and one on `lock`, which says that
 * the sessions are wanted; its keeper may have the latter, too, and keep it longer. A directory of
 * our own user is stale when that process is gone and nobody holds `lock`.
 */
#include "record/session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/process_start.h"
#include "base/time_namespace.h"
#include "brick/clock.h"
#include "brick/error.h"
#include "lib/probe/pair_cost.h"
#include "lib/session/refusals.h"
#include "record/control.h"

/* Eight threads' rings. */
#define NEEDED_BYTES (64ull << 20)

#define PREFIX "brick-"
#define SUFFIX ".session"

static bool has_space(const char *base)
{
	struct statvfs vfs;

	return access(base, W_OK | X_OK) == 0 && statvfs(base, &vfs) == 0 &&
	       (unsigned long long)vfs.f_bavail * vfs.f_frsize >= NEEDED_BYTES;
}

static const char *disk_base(void)
{
	const char *tmp = getenv("TMPDIR");
	return tmp && tmp[0] == '/' ? tmp : "/tmp";
}

/* A listing whose position is independent of the descriptor `directory`. */
static DIR *open_list(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

static void remove_files(int fd)
{
	DIR *list = open_list(fd);
	struct dirent *entry;

	if (!list)
		return;
	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
			unlinkat(fd, entry->d_name, 0) < 0)
			unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	closedir(list);
}

/* True if nobody holds a lock on the file, or there is none. */
static bool session_dir_is_free(int directory, const char *name)
{
	int lock = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (lock < 0)
		return errno == ENOENT;
	bool is_free = flock(lock, LOCK_EX | LOCK_NB) == 0;
	close(lock);
	return is_free;
}

/* True if the directory's recorder is gone. `name` begins with PREFIX. */
static bool is_stale(int fd, const char *name)
{
	struct stat st;
	int pid;
	unsigned long long start;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 0777) != 0700)
		return false;
	if (sscanf(name, PREFIX "%d-%llu-", &pid, &start) != 2)
		return false;
	if (process_start_time(pid) == start)
		return false;
	return session_dir_is_free(fd, "lock");
}

static void session_dir_remove_stale(const char *base)
{
	DIR *list = opendir(base);
	struct dirent *entry;

	if (!list)
		return;
	while ((entry = readdir(list))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		int fd = openat(dirfd(list), entry->d_name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_stale(fd, entry->d_name)) {
			remove_files(fd);
			unlinkat(dirfd(list), entry->d_name, AT_REMOVEDIR);
		}
		close(fd);
	}
	closedir(list);
}

static int lock_file(const struct session_dir *dir, const char *name, int create, int *fd)
{
	*fd = openat(dir->fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, 0600);
	return *fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* create: O_CREAT | O_EXCL, or 0: all is there, and a keeper may hold `lock`. */
static int open_and_lock(struct session_dir *dir, int create)
{
	struct stat st;

	dir->lock_fd = dir->recorder_fd = -1;
	dir->refusals = NULL;
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir->fd < 0)
		return -errno;
	/* before its recorder is asked for it */
	if (!create &&
		(fstat(dir->fd, &st) || st.st_uid != geteuid() || (st.st_mode & 0777) != 0700))
		return -EPERM;
	int error = lock_file(dir, "recorder", create, &dir->recorder_fd);
	int other = error ? error : lock_file(dir, "lock", create, &dir->lock_fd);
	if (!error && !create && other == -EWOULDBLOCK) {
		close(dir->lock_fd);
		dir->lock_fd = -1;
		other = 0;
	}
	return error ? error : other;
}

/*
 * Make the page that all processes of the recording map when they start: later, a process may have
 * no free descriptor, no right to the directory, or another root. Or map the one that is there.
 */
static int share_refusals(struct session_dir *dir, int create)
{
	struct brick_session_refusals *page = MAP_FAILED;
	int fd = openat(dir->fd, BRICK_SESSION_REFUSALS_NAME,
		O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, 0600);
	int error = fd < 0 ? -errno : create ? -posix_fallocate(fd, 0, sizeof(*page)) : 0;
	struct stat st;

	if (!error && !create && (fstat(fd, &st) || st.st_size != sizeof(*page)))
		error = BRICK_EVERSION;
	if (!error) {
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		error = page == MAP_FAILED ? -errno : 0;
	}
	if (!error && !create) {
		dir->refusals = page;
		if (page->magic != BRICK_SESSION_MAGIC || page->version != BRICK_SESSION_VERSION)
			error = BRICK_EVERSION;
	} else if (!error) {
		page->clock = *brick_clock_get();
		page->clock.base_ns -= (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
		brick__pair_cost_share(page);
		page->version = BRICK_SESSION_VERSION;
		page->magic = BRICK_SESSION_MAGIC;
		dir->refusals = page;
	}
	if (fd >= 0)
		close(fd);
	return error;
}

/*
 * Open the socket for processes that cannot reach the directory. If that fails, told_fd is -1, and
 * they go unheard.
 */
static void open_socket(struct session_dir *dir)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX}; /* sun_path[0] is 0: abstract */
	const char *name = strrchr(dir->path, '/') + 1;
	const int yes = 1;
	size_t length = strlen(name);

	dir->told_fd = length < sizeof(at.sun_path)
			       ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
			       : -1;
	if (dir->told_fd < 0)
		return;
	memcpy(at.sun_path + 1, name, length);
	if (bind(dir->told_fd, (struct sockaddr *)&at,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ||
		setsockopt(dir->told_fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes))) {
		close(dir->told_fd);
		dir->told_fd = -1;
	}
}

/* A message that came. */
struct told {
	union {
		struct brick_session_refusals refusal;
		struct control_request request;
	};
	size_t bytes;
	struct ucred sender; /* pid is its number in our namespace */
	struct sockaddr_un from;
	socklen_t from_bytes;
};

/* False: there is no message. */
static bool receive(int fd, struct told *told)
{
	char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec part = {told, offsetof(struct told, bytes)};
	struct msghdr message = {.msg_name = &told->from,
		.msg_namelen = sizeof(told->from),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};

	memset(told, 0, sizeof(*told));
	told->sender.uid = (uid_t)-1;
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return false;
	told->bytes = (size_t)n;
	told->from_bytes = message.msg_namelen;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&told->sender, CMSG_DATA(c), sizeof(told->sender));
	return true;
}

/* A process without a session; libraries of Brick 0.2 send less of the page. */
static void hear_refusal(const struct session_dir *dir, struct told *told)
{
	struct brick_session_refusals *r = &told->refusal;

	if (told->bytes < offsetof(struct brick_session_refusals, off) ||
		r->magic != BRICK_SESSION_MAGIC || r->version != BRICK_SESSION_VERSION ||
		r->error >= 0 || !told->sender.pid)
		return;
	r->name[sizeof(r->name) - 1] = '\0';
	refusals_add(dir->refusals, r->error, (uint32_t)told->sender.pid, r->name);
}

static void hear_request(const struct session_dir *dir, struct told *told)
{
	struct control_answer answer = {.magic = CONTROL_MAGIC, .error = -EPERM};

	told->request.text[CONTROL_TEXT - 1] = '\0';
	if (told->sender.uid == geteuid() || !told->sender.uid)
		answer.error =
			dir->asked ? dir->asked(dir->context, &told->request, &answer) : -ENOTSUP;
	/* a sender that does not listen gets no answer */
	(void)!sendto(dir->told_fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL,
		(const struct sockaddr *)&told->from, told->from_bytes);
}

void session_dir_hear(const struct session_dir *dir)
{
	struct told told;

	while (dir->told_fd >= 0 && receive(dir->told_fd, &told)) {
		if (told.bytes == sizeof(told.request) && told.request.magic == CONTROL_MAGIC)
			hear_request(dir, &told);
		else
			hear_refusal(dir, &told);
	}
}

int session_dir_create(struct session_dir *dir)
{
	const char *base = "/dev/shm";

	session_dir_remove_stale(base);
	session_dir_remove_stale(disk_base());
	if (!has_space(base))
		base = disk_base();
	int n = snprintf(dir->path, sizeof(dir->path), "%s/" PREFIX "%d-%llu-XXXXXX", base,
		(int)getpid(), process_start_time(getpid()));
	if (n < 0 || (size_t)n >= sizeof(dir->path))
		return -ENAMETOOLONG;
	if (!mkdtemp(dir->path))
		return -errno;
	open_socket(dir);
	int error = open_and_lock(dir, O_CREAT | O_EXCL);
	if (!error)
		error = share_refusals(dir, O_CREAT | O_EXCL);
	if (error)
		session_dir_remove(dir);
	return error;
}

int session_dir_take_over(struct session_dir *dir, const char *path)
{
	dir->told_fd = -1;
	if (snprintf(dir->path, sizeof(dir->path), "%s", path) >= (int)sizeof(dir->path))
		return -ENAMETOOLONG;
	int error = open_and_lock(dir, 0);
	if (!error)
		error = share_refusals(dir, 0);
	if (!error)
		open_socket(dir);
	else
		session_dir_leave(dir);
	/* that of an older Brick has no such file, or another lock on it */
	return error == -ENOENT && !access(path, F_OK) ? BRICK_EVERSION
	       : error == -EWOULDBLOCK		       ? -EBUSY
						       : error;
}

bool session_dir_is_left(const char *path)
{
	struct session_dir dir = {.told_fd = -1};

	if (snprintf(dir.path, sizeof(dir.path), "%s", path) >= (int)sizeof(dir.path))
		return false;
	bool is_left = !open_and_lock(&dir, 0);
	session_dir_leave(&dir);
	return is_left;
}

void session_dir_leave(struct session_dir *dir)
{
	/* the last one lets the next recorder in */
	int *const fds[] = {&dir->told_fd, &dir->lock_fd, &dir->fd, &dir->recorder_fd};

	if (dir->refusals)
		munmap(dir->refusals, sizeof(*dir->refusals));
	dir->refusals = NULL;
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void session_dir_remove(struct session_dir *dir)
{
	if (dir->fd >= 0)
		remove_files(dir->fd);
	rmdir(dir->path);
	session_dir_leave(dir);
}

/* The pid in a session's file name; 0: it is no such name. */
static pid_t session_pid(const char *name)
{
	char *end;
	size_t length = strlen(name);

	if (length < strlen(SUFFIX) || strcmp(name + length - strlen(SUFFIX), SUFFIX))
		return 0;
	long pid = strtol(name, &end, 10);
	return pid > 0 && pid <= 0x7fffffff && *end == '-' ? (pid_t)pid : 0;
}

int session_dir_each(const struct session_dir *dir, session_dir_fn fn, void *context)
{
	DIR *list = open_list(dir->fd);
	struct dirent *entry;

	if (!list)
		return -errno;
	while ((entry = readdir(list))) {
		pid_t pid = session_pid(entry->d_name);
		if (pid)
			fn(context, entry->d_name, pid);
	}
	closedir(list);
	return 0;
}
