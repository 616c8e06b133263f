/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our descriptors in other people's programs. Another thread of the program may close all
 * descriptors at any time, and open its own under the same numbers. Descriptors that stay open get
 * high numbers, which programs hardly reuse. Header only; any thread.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTOR_STREAMS = 3, DESCRIPTOR_HIGH = 960 };

/*
 * Close our descriptor, unless the program has closed it, and the number is a file of its own by
 * now. (A race remains between fstat() and close().) own: our file's fstat(2) or stat(2). Keeps
 * errno.
 */
static inline void descriptor_close(int fd, const struct stat *own)
{
	int error = errno;
	struct stat now;

	if (fd >= 0 && !fstat(fd, &now) && now.st_dev == own->st_dev && now.st_ino == own->st_ino)
		close(fd);
	errno = error;
}

/* Move a file to a high number, and close `fd`; returns that number, or `fd` if none is free. */
static inline int descriptor_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_HIGH);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/*
 * A program may have closed its standard streams (descriptors 0 to 2), but another thread may still
 * write there, and would write into a file of ours. Between streams_hold() and streams_release(),
 * no file that is opened gets one of these numbers. `lowest` is an O_PATH descriptor, which can
 * neither be read nor written, and which has just got the lowest free number; `own` is its
 * fstat(2), and must outlive the hold.
 */
struct streams_held {
	int numbers[DESCRIPTOR_STREAMS]; /* [count] duplicates of `lowest` */
	int count;
	const struct stat *own; /* fstat(2) of `lowest`; borrowed */
};

static inline void streams_hold(struct streams_held *held, int lowest, const struct stat *own)
{
	int last = lowest;

	held->count = 0;
	held->own = own;
	while (last >= 0 && last < DESCRIPTOR_STREAMS - 1) {
		last = fcntl(lowest, F_DUPFD_CLOEXEC, 0);
		if (last >= 0 && last < DESCRIPTOR_STREAMS)
			held->numbers[held->count++] = last;
		else if (last >= 0)
			descriptor_close(last, own);
	}
}

static inline void streams_release(struct streams_held *held)
{
	while (held->count)
		descriptor_close(held->numbers[--held->count], held->own);
}
