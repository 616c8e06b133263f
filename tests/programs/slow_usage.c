/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A getrusage() that takes 5 ms, to be preloaded: as on a machine where another program gets the
 * CPU at each such call.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(default)
int getrusage(__rusage_who_t who, struct rusage *usage)
{
	usleep(5000);
	return (int)syscall(SYS_getrusage, who, usage);
}
