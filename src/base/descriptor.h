/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors inside of somebody else's program, another thread of which may close all that there
 * are at any time, and open its own. Those that stay open get high numbers, which are hardly used
 * again. Header only; any thread.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTOR_STREAMS = 3, DESCRIPTOR_HIGH = 960 };

/*
 * Closes what was opened for a moment, unless the program has done that meanwhile: the number may
 * be a file's of its own by now. (Between the look and the end nothing keeps it from that.) own:
 * what was opened, by fstat(2) or stat(2). Keeps errno.
 */
static inline void descriptor_close(int fd, const struct stat *own)
{
	int error = errno;
	struct stat now;

	if (fd >= 0 && !fstat(fd, &now) && now.st_dev == own->st_dev && now.st_ino == own->st_ino)
		close(fd);
	errno = error;
}

/* Moves a file to a high number, if there is one; `fd` is closed then. */
static inline int descriptor_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_HIGH);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/*
 * The numbers of streams that the program has closed are its own still: another thread of it may
 * write there, and would write into what we opened. Between these nothing that is opened gets one
 * of them. `lowest` is a descriptor of O_PATH, which can neither be read nor written, and has just
 * got the lowest number that was free; `own` is what fstat(2) says of it.
 */
struct streams_held {
	int numbers[DESCRIPTOR_STREAMS];
	int count;
	const struct stat *own;
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
