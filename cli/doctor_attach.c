/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether sessions can be kept in shared memory, and whether programs can be attached to. Tries
 * what it can: makes a session directory, and preloads the library into a program.
 */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "view/memory.h"
#include "view/units.h"
#include "inject/inject.h"
#include "record/session_dir.h"

extern char **environ;

static void add_sessions(struct doctor *doctor)
{
	struct session_dir dir;
	struct statvfs vfs;
	char room[UNITS_BYTES] = "unknown";
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
		"in %s, %s free, about %s a thread", dir.path, units_bytes(room, bytes), "8.4MB");
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

/* Environment with one variable replaced; entries are borrowed but for the last. */
static char **environment_with(const char *name, const char *value)
{
	size_t count = 0, used = 0, length = strlen(name);
	while (environ[count])
		count++;
	char **copy = xcalloc(count + 2, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], name, length) || environ[i][length] != '=')
			copy[used++] = environ[i];
	copy[used] = xasprintf("%s=%s", name, value);
	return copy;
}

static void free_environment(char **environment)
{
	size_t last = 0;
	while (environment[last + 1])
		last++;
	free(environment[last]);
	free(environment);
}

static int start(const char *library, int output, pid_t *pid)
{
	char *argv[] = {"cat", "/proc/self/maps", NULL};
	char **environment = environment_with("LD_PRELOAD", library);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	sigaddset(&none, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_adddup2(&actions, output, 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	int error = posix_spawnp(pid, "cat", &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	free_environment(environment);
	return error;
}

/*
 * Run a program with the library preloaded that lists what is loaded. 1: it is; else the reason is
 * in why, in the dynamic linker's words where it had any.
 */
static int try_preload(const char *library, char *why, size_t size)
{
	int ends[2], status = 0, seen = 0;
	pid_t pid;
	snprintf(why, size, "a test program could not be run");
	if (pipe(ends) != 0)
		return 0;
	int error = start(library, ends[1], &pid);
	close(ends[1]);
	FILE *list = error ? NULL : fdopen(ends[0], "r");
	char line[PATH_MAX + 200], complaint[512] = "";
	unsigned long from, to;
	while (list && fgets(line, sizeof(line), list)) {
		bool is_map = sscanf(line, "%lx-%lx ", &from, &to) == 2;
		seen |= is_map && strstr(line, library) != NULL;
		if (!is_map && !complaint[0])
			snprintf(complaint, sizeof(complaint), "%.*s", (int)strcspn(line, "\n"),
				line);
	}
	if (list)
		fclose(list);
	else
		close(ends[0]);
	if (error)
		return 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	snprintf(why, size, "%s", complaint[0] ? complaint : "the dynamic linker ignored it");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && seen;
}

static void add_preload(struct doctor *doctor)
{
	char library[PATH_MAX], why[512];
	enum inject_obstacle obstacle = inject_library(library, sizeof(library));
	if (obstacle != INJECT_FINE)
		doctor_add(doctor, "Recording", "attach", DOCTOR_NO,
			"install Brick whole; programs with libbrick inside can be recorded all "
			"the "
			"same",
			"%s", inject_obstacle_text(obstacle));
	else if (!try_preload(library, why, sizeof(why)))
		doctor_add(doctor, "Recording", "attach", DOCTOR_NO,
			"programs with libbrick inside can be recorded all the same",
			"%s cannot be preloaded: %s", library, why);
	else
		doctor_add(doctor, "Recording", "attach", DOCTOR_OK, NULL,
			"%s can be preloaded into programs", library);
}

static void add_opencl(struct doctor *doctor)
{
	char library[PATH_MAX], why[512];
	if (!inject_further("libbrick-opencl.so", library, sizeof(library)))
		doctor_add(doctor, "Recording", "opencl", DOCTOR_ABSENT,
			"build Brick where OpenCL's headers are (Debian: opencl-headers)",
			"libbrick-opencl.so is not here: OpenCL programs are not attached to");
	else if (!try_preload(library, why, sizeof(why)))
		doctor_add(doctor, "Recording", "opencl", DOCTOR_NO, NULL,
			"%s cannot be preloaded: %s", library, why);
	else
		doctor_add(doctor, "Recording", "opencl", DOCTOR_OK, NULL,
			"queues of OpenCL programs are recorded, linked with libOpenCL or opening "
			"it themselves");
}

static void add_ptrace(struct doctor *doctor)
{
	static const char *const meanings[] = {"any process of the same user", "children only",
		"with CAP_SYS_PTRACE only", "nobody"};
	char scope[32];
	if (!doctor_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		return;
	int level = atoi(scope);
	doctor_add(doctor, "Recording", "ptrace", level >= 2 ? DOCTOR_LIMITED : DOCTOR_OK,
		"attaching by preloading does not need it", "may trace: %s (ptrace_scope %d)",
		meanings[level >= 0 && level <= 3 ? level : 3], level);
}

static void add_kptr(struct doctor *doctor)
{
	char restrict_[32];
	if (doctor_read_line("/proc/sys/kernel/kptr_restrict", restrict_, sizeof(restrict_)))
		doctor_add(doctor, "Recording", "kernel names", DOCTOR_OK, NULL,
			"kptr_restrict %s; Brick looks at user space only", restrict_);
}

void doctor_attach(struct doctor *doctor)
{
	add_sessions(doctor);
	add_preload(doctor);
	add_opencl(doctor);
	add_ptrace(doctor);
	add_kptr(doctor);
	add_memlock(doctor);
}
