/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that forbid system calls to themselves (seccomp): libbrick is told before the filter is
 * there, while it may still make ready what it will need. Programs call prctl(), or syscall() as
 * libseccomp does. A filter that is set in another way is not seen. Calls go on with all registers
 * as they came, since syscall() may be a clone() that returns on another stack.
 */
#include "attach/common/filter_guard.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "lib/session/session_lanes.h"
#include "lib/sys/confined.h"
#include "lib/sys/functions.h"
#include "lib/sys/interpose.h"

static void *real_prctl, *real_syscall;
static void *by_execve, *by_execveat;

bool filter_guard_is_on(void)
{
	return brick__sys_is_confined();
}

void filter_guard_starters(void *execve, void *execveat)
{
	by_execve = execve;
	by_execveat = execveat;
}

__attribute__((constructor)) static void find_first(void)
{
	sys_function_next(&real_prctl, "prctl");
	sys_function_next(&real_syscall, "syscall");
}

static bool is_filter(long option)
{
	return option == PR_SET_SECCOMP;
}

#define CHOICE __attribute__((visibility("hidden")))

CHOICE void *choose_prctl(const void *caller, int option) __asm__(SYS_CHOICE("prctl"));
void *choose_prctl(const void *caller, int option)
{
	(void)caller;
	if (__builtin_expect(is_filter(option), 0))
		brick__confine();
	return sys_function_next(&real_prctl, "prctl");
}

enum { SECCOMP_GETS_FROM = 2 }; /* operations from here on only ask */

CHOICE void *choose_syscall(const void *caller, long number, unsigned long first) __asm__(
	SYS_CHOICE("syscall"));
void *choose_syscall(const void *caller, long number, unsigned long first)
{
	(void)caller;
	if (__builtin_expect(number == SYS_seccomp && (unsigned)first < SECCOMP_GETS_FROM, 0) ||
		__builtin_expect(number == SYS_prctl && is_filter((int)first), 0))
		brick__confine();
	if (__builtin_expect(number == SYS_execve, 0) && by_execve)
		return by_execve;
	if (__builtin_expect(number == SYS_execveat, 0) && by_execveat)
		return by_execveat;
	return sys_function_next(&real_syscall, "syscall");
}

/* Stands in where the C library has no such function. */
CHOICE long no_prctl(void) __asm__(SYS_HOOK("prctl"));
long no_prctl(void)
{
	errno = ENOSYS;
	return -1;
}

CHOICE long no_syscall(void) __asm__(SYS_HOOK("syscall"));
long no_syscall(void)
{
	return no_prctl();
}

SYS_PROVED("prctl");
SYS_PROVED("syscall");
