/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a recorder: what a machine that fails is sure to have on its disk. Appends to
 * $SYNC_LOG, per successful fdatasync(2), the size that the file had before the call.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(off_t size)
{
	const char *path = getenv("SYNC_LOG");
	int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (log < 0)
		return;
	dprintf(log, "%lld\n", (long long)size);
	close(log);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	static int (*next)(int);
	void *function = dlsym(RTLD_NEXT, "fdatasync");
	struct stat st;

	memcpy(&next, &function, sizeof next);
	int known = !fstat(fd, &st);
	int result = next(fd);
	if (known && !result)
		note(st.st_size);
	return result;
}
