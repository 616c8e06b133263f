/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of prctl() and syscall(), for programs that filter their own system calls (seccomp).
 * libbrick is told before the filter is set, so that it can still prepare. A filter that is set in
 * another way is not seen. prctl() may also take the CPU's counter from a thread (PR_SET_TSC),
 * which ends the recording. Calls go on with all registers unchanged, as syscall() may be a clone()
 * that returns on another stack.
 */
#include "attach/common/filter_guard.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "base/lock.h"
#include "lib/session/session_lanes.h"
#include "lib/sys/confined.h"
#include "lib/sys/functions.h"
#include "lib/sys/interpose.h"

static void *real_prctl, *real_syscall;
static void *filter_guard_by_execve, *filter_guard_by_execveat;

bool filter_guard_is_on(void)
{
	return brick__sys_is_confined();
}

void filter_guard_starters(void *execve, void *execveat)
{
	filter_guard_by_execve = execve;
	filter_guard_by_execveat = execveat;
}

__attribute__((constructor)) static void filter_guard_find_first(void)
{
	sys_function_next(&real_prctl, "prctl");
	sys_function_next(&real_syscall, "syscall");
	if (brick__sys_is_confined())
		lock_leave_signals(true);
}

#ifndef PR_SET_TSC
#define PR_SET_TSC 26
#define PR_TSC_SIGSEGV 2
#endif

static void before_prctl(int option, unsigned long value)
{
	if (option == PR_SET_SECCOMP) {
		lock_leave_signals(true); /* in the locks of this library */
		brick__confine();
	}
	if ((option == PR_SET_TSC && value == PR_TSC_SIGSEGV) ||
		(option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT))
		brick__counter_goes();
}

#define CHOICE __attribute__((visibility("hidden")))

CHOICE void *choose_prctl(const void *caller, int option, unsigned long value) __asm__(
	SYS_CHOICE("prctl"));
void *choose_prctl(const void *caller, int option, unsigned long value)
{
	(void)caller;
	before_prctl(option, value);
	return sys_function_next(&real_prctl, "prctl");
}

enum { SECCOMP_GETS_FROM = 2 }; /* operations from here on only ask */

CHOICE void *choose_syscall(const void *caller, long number, unsigned long first,
	unsigned long second) __asm__(SYS_CHOICE("syscall"));
void *choose_syscall(const void *caller, long number, unsigned long first, unsigned long second)
{
	(void)caller;
	if (__builtin_expect(number == SYS_seccomp && (unsigned)first < SECCOMP_GETS_FROM, 0))
		before_prctl(PR_SET_SECCOMP, (unsigned)first == SECCOMP_SET_MODE_STRICT
						     ? SECCOMP_MODE_STRICT
						     : SECCOMP_MODE_FILTER);
	if (__builtin_expect(number == SYS_prctl, 0))
		before_prctl((int)first, second);
	if (__builtin_expect(number == SYS_execve, 0) && filter_guard_by_execve)
		return filter_guard_by_execve;
	if (__builtin_expect(number == SYS_execveat, 0) && filter_guard_by_execveat)
		return filter_guard_by_execveat;
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
