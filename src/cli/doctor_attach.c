/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether sessions can be kept in shared memory, and what the system lets a recorder do. Tries what
 * it can: makes a session directory.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cmd_doctor.h"
#include "ui/text/text.h"
#include "record/session_dir.h"

static void add_sessions(struct doctor *doctor)
{
	struct session_dir dir;
	struct statvfs vfs;
	char space[UNITS_BYTES] = "unknown";
	int rc = session_dir_create(&dir);
	if (rc < 0) {
		doctor->cannot_record = 1;
		doctor_add(doctor, "Recording", "sessions", DOCTOR_NO,
			"make /dev/shm or TMPDIR writable, with 64 MB free",
			"no place for shared memory: %s", strerror(-rc));
		return;
	}
	uint64_t bytes = 0;
	if (statvfs(dir.path, &vfs) == 0)
		bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	bool memory = !strncmp(dir.path, "/dev/shm/", 9);
	/* A thread's ring takes 8 MiB. */
	bool small = bytes < (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 4 * (8 << 20);
	*strrchr(dir.path, '/') = '\0';
	doctor_add(doctor, "Recording", "sessions", memory && !small ? DOCTOR_OK : DOCTOR_LIMITED,
		memory ? "programs with many threads may find no room: enlarge /dev/shm"
		       : "a disk is slower than memory: mount a tmpfs on /dev/shm with 64 MB or "
			 "more",
		"in %s, %s free, about %s a thread", dir.path, units_bytes(space, bytes), "8.4MB");
	dir.path[strlen(dir.path)] = '/';
	session_dir_remove(&dir);
}

static void add_memlock(struct doctor *doctor)
{
	struct rlimit limit;
	char bytes[UNITS_BYTES];
	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		doctor_add(doctor, "Recording", "memlock", DOCTOR_OK, NULL,
			"memory may be locked without limit");
	else
		doctor_add(doctor, "Recording", "memlock", DOCTOR_OK, NULL,
			"up to %s may be locked (not needed: rings are touched before use)",
			units_bytes(bytes, limit.rlim_cur));
}

static void add_ptrace(struct doctor *doctor)
{
	static const char *const meanings[] = {"any process of the same user", "children only",
		"with CAP_SYS_PTRACE only", "nobody"};
	char scope[32];
	if (!file_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		return;
	int level = atoi(scope);
	doctor_add(doctor, "Recording", "ptrace", level >= 2 ? DOCTOR_LIMITED : DOCTOR_OK,
		"attaching by preloading does not need it", "may trace: %s (ptrace_scope %d)",
		meanings[level >= 0 && level <= 3 ? level : 3], level);
}

static void add_kptr(struct doctor *doctor)
{
	char restrict_[32];
	if (file_line("/proc/sys/kernel/kptr_restrict", restrict_, sizeof(restrict_)))
		doctor_add(doctor, "Recording", "kernel names", DOCTOR_OK, NULL,
			"kptr_restrict %s; Brick looks at user space only", restrict_);
}

void doctor_attach(struct doctor *doctor)
{
	add_sessions(doctor);
	doctor_attachers(doctor);
	add_ptrace(doctor);
	add_kptr(doctor);
	add_memlock(doctor);
}
