/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that stay open inside of somebody else's program get high numbers, which a program
 * that closes all descriptors and opens new ones hardly reuses. Header only; any thread.
 */
#pragma once

#include <fcntl.h>
#include <unistd.h>

enum { DESCRIPTOR_HIGH = 960 };

/* Moves a file to a high number, if there is one; `fd` is closed then. */
static inline int descriptor_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_HIGH);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}
