/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors.h on Linux: close_range(2). Called raw, since sanitizers that watch these calls know
 * one table of descriptors only. For the same reason our numbers begin where few programs have any:
 * the low ones are taken by a descriptor that can neither be read nor written.
 */
#include "lib/sys/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptor.h"
#include "base/scope.h"

enum { UNSHARE = 2 /* CLOSE_RANGE_UNSHARE */, FREE = 64, STREAMS = 3 };

static int close_range_here(unsigned first, unsigned last)
{
	return syscall(SYS_close_range, first, last, UNSHARE) ? -errno : 0;
}

/* Numbers below this are nobody's: the streams at least, and enough are left. */
static int first_number(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= DESCRIPTOR_HIGH + FREE)
		return DESCRIPTOR_HIGH;
	return files.rlim_cur >= STREAMS + FREE ? (int)files.rlim_cur - FREE : STREAMS;
}

static void descriptors_fill(int below)
{
	int filler = (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC), next = filler;

	while (next >= 0 && next < below)
		next = (int)syscall(SYS_dup, filler);
	if (next >= below)
		syscall(SYS_close, next);
}

int brick__descriptors_leave(int kept)
{
	KEEP_ERRNO();
	int error = kept > 0 ? close_range_here(0, (unsigned)kept - 1) : 0;

	if (!error)
		error = close_range_here((unsigned)kept + 1, ~0u);
	if (!error)
		descriptors_fill(first_number());
	return error;
}
