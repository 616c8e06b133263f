/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam of lib/sys/sys.h on Linux: shared memory, identity of threads and of the process.
 * Called on slow paths only; every function leaves errno as it found it.
 */
#include "lib/sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int brick__sys_shared_create(const char *directory, const char *name)
{
	int saved = errno;
	int fd;

	if (directory) {
		char path[PATH_MAX];
		int n = snprintf(path, sizeof path, "%s/%s", directory, name);
		if (n < 0 || (size_t)n >= sizeof path)
			return -ENAMETOOLONG;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	} else {
		fd = memfd_create(name, MFD_CLOEXEC);
	}
	int result = fd < 0 ? -errno : fd;
	errno = saved;
	return result;
}

int brick__sys_shared_extend(int fd, uint64_t bytes)
{
	int saved = errno;
	struct stat st;
	int result = 0;

	if (fstat(fd, &st) < 0)
		result = -errno;
	else if ((uint64_t)st.st_size < bytes && ftruncate(fd, (off_t)bytes) < 0)
		result = -errno;
	errno = saved;
	return result;
}

int brick__sys_shared_reserve(int fd, uint64_t offset, uint64_t bytes)
{
	int saved = errno;
	int result = 0;

	while (fallocate(fd, 0, (off_t)offset, (off_t)bytes) < 0) {
		if (errno == EINTR)
			continue;
		result = -errno;
		break;
	}
	errno = saved;
	return result;
}

void *brick__sys_map(int fd, uint64_t offset, uint64_t bytes, int writable, int *error)
{
	int saved = errno;
	int protection = PROT_READ | (writable ? PROT_WRITE : 0);
	void *address = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)offset);

	*error = address == MAP_FAILED ? -errno : 0;
	errno = saved;
	return address == MAP_FAILED ? NULL : address;
}

void brick__sys_unmap(void *address, uint64_t bytes)
{
	int saved = errno;
	munmap(address, bytes);
	errno = saved;
}

void brick__sys_touch(void *address, uint64_t bytes)
{
	int saved = errno;

	if (madvise(address, bytes, MADV_POPULATE_WRITE) < 0) {
		for (uint64_t i = 0; i < bytes; i += 4096) {
			volatile char *page = (volatile char *)address + i;
			*page = *page;
		}
	}
	errno = saved;
}

uint64_t brick__sys_thread_id(void)
{
	int saved = errno;
	uint64_t tid = (uint64_t)syscall(SYS_gettid);
	errno = saved;
	return tid;
}

void brick__sys_thread_name(char *name, size_t bytes)
{
	int saved = errno;
	char buffer[16] = "";

	prctl(PR_GET_NAME, buffer);
	snprintf(name, bytes, "%s", buffer);
	errno = saved;
}

size_t brick__sys_executable(char *path, size_t bytes)
{
	int saved = errno;
	ssize_t n = readlink("/proc/self/exe", path, bytes - 1);

	n = n < 0 ? 0 : n;
	path[n] = '\0';
	errno = saved;
	return (size_t)n;
}

size_t brick__sys_command(char *argv, size_t bytes)
{
	int saved = errno;
	size_t used = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && used < bytes) {
		ssize_t n = read(fd, argv + used, bytes - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (used)
		argv[used - 1] = '\0';
	errno = saved;
	return used;
}
