/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pid can be reused for another process, so a process is held by a pidfd; on a kernel without
 * pidfds, its start time tells it apart. NSpid in /proc/PID/status (proc_pid_status(5)) has a
 * thread's number in our namespace and in each inner one; the thread itself gets the last from
 * getpid() or gettid().
 */
#include "record/process.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/file.h"
#include "base/process_start.h"

static struct process process_hold(pid_t pid)
{
	struct process p = {.pid = pid, .pidfd = -1};

	p.start_time = pid > 0 ? process_start_time(pid) : 0;
	if (p.start_time)
		p.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return p;
}

bool process_has_ended(const struct process *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	if (!p->pid)
		return false;
	if (p->pidfd >= 0)
		return poll(&fd, 1, 0) > 0;
	return !p->start_time || process_start_time(p->pid) != p->start_time;
}

void process_release(struct process *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
}

/* Traces of a recorder in a process. */

/*
 * True if the process is ending (the kernel's PF_EXITING): its memory is gone, and its files in
 * /proc are root's, which looks like a lack of permission.
 */
static bool is_exiting(pid_t pid)
{
	enum { EXITING = 4 };
	char path[64], text[1024], state;
	unsigned flags;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file_begin(path, text, sizeof(text));
	const char *at = strrchr(text, ')');
	return !at || sscanf(at, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2 ||
	       state == 'Z' || flags & EXITING;
}

/*
 * Whether a part of /proc/PID/FILE contains `wanted`. A file that is empty or cannot be opened, as
 * that of a process that has just ended, gives PROCESS_IS_UNKNOWN.
 */
static enum process_is proc_file_has(pid_t pid, const char *file, int separator, const char *wanted)
{
	char path[64], *part = NULL;
	size_t capacity = 0;
	int found = 0, parts = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	FILE *in = fopen(path, "re");
	if (!in)
		return (errno != EACCES && errno != EPERM) || is_exiting(pid) ? PROCESS_IS_UNKNOWN
									      : PROCESS_IS_NOT;
	for (; !found && getdelim(&part, &capacity, separator, in) > 0; parts++)
		found = strstr(part, wanted) != NULL;
	free(part);
	fclose(in);
	return found ? PROCESS_IS : parts ? PROCESS_IS_NOT : PROCESS_IS_UNKNOWN;
}

bool process_maps(pid_t pid, const char *session)
{
	return proc_file_has(pid, "maps", '\n', session) == PROCESS_IS;
}

/*
 * False only if the process was certainly not started under a recorder, or may not be read. One
 * that lives and has no folder in /proc is hidden (hidepid).
 */
static bool may_be_recorded(pid_t pid)
{
	enum process_is is = proc_file_has(pid, "environ", '\0', "BRICK_SESSION_DIR=");
	struct stat folder;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	bool is_hidden = is == PROCESS_IS_UNKNOWN && stat(path, &folder) < 0 &&
			 (!kill(pid, 0) || errno == EPERM);
	return is != PROCESS_IS_NOT && !is_hidden;
}

enum process_is process_is_under(pid_t pid, const char *directory)
{
	enum process_is is = proc_file_has(pid, "environ", '\0', directory);

	/* an environment may be empty, the memory of a process that lives is not */
	return is == PROCESS_IS ? is : proc_file_has(pid, "maps", '\n', directory);
}

/* Numbers in other PID namespaces. */

/* The number that a thread has for itself; status: its status file. 0: the file cannot be read. */
static pid_t own_number(const char *status)
{
	char text[4096];

	file_begin(status, text, sizeof(text));
	char *at = strstr(text, "\nNSpid:");
	if (!at)
		return 0;
	at += strlen("\nNSpid:");
	at[strcspn(at, "\n")] = '\0';
	const char *last = strrchr(at, '\t');
	return last ? atoi(last + 1) : 0;
}

/* The PID namespace as text; "": no permission, or no such process. */
static void namespace_of(const char *process, char *out, size_t bytes)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/ns/pid", process);
	file_link(path, out, bytes);
}

/* False if the /proc that is mounted shows the numbers of another PID namespace. */
static bool proc_has_our_numbers(void)
{
	char self[32];

	file_link("/proc/self", self, sizeof(self));
	return atoi(self) == getpid();
}

/*
 * The process of another PID namespace that maps the session and calls itself `pid`; 0: none, or it
 * is hidden. Processes of our own namespace are skipped by a link: reading the status of all would
 * take milliseconds.
 */
static pid_t find_writer(pid_t pid, const char *session)
{
	DIR *all = opendir("/proc");
	char ours[64], theirs[64], path[64];
	pid_t found = 0;

	namespace_of("self", ours, sizeof(ours));
	for (struct dirent *entry; all && !found && (entry = readdir(all));) {
		pid_t candidate = atoi(entry->d_name);
		if (candidate <= 0)
			continue;
		namespace_of(entry->d_name, theirs, sizeof(theirs));
		snprintf(path, sizeof(path), "/proc/%d/status", (int)candidate);
		if (*theirs && strcmp(ours, theirs) != 0 && own_number(path) == pid &&
			process_maps(candidate, session))
			found = candidate;
	}
	if (all)
		closedir(all);
	return found;
}

struct process process_hold_writer(pid_t pid, const char *session)
{
	const struct process hidden = {.pidfd = -1};

	if (!proc_has_our_numbers())
		return hidden;
	pid_t ours = process_maps(pid, session) ? pid : find_writer(pid, session);
	if (ours)
		return process_hold(ours);
	return may_be_recorded(pid) ? process_hold(pid) : hidden;
}

int process_own_tids(struct hashmap *own_of, pid_t process)
{
	char path[64];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	DIR *threads = opendir(path);
	for (struct dirent *entry; threads && !error && (entry = readdir(threads));) {
		int tid = atoi(entry->d_name); /* 0 of "." and ".." */
		if (tid <= 0 || hashmap_get(own_of, (uint64_t)tid) != HASHMAP_NONE)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)process, tid);
		pid_t own = own_number(path);
		if (own > 0)
			error = hashmap_set(own_of, (uint64_t)tid, (uint64_t)own);
	}
	if (threads)
		closedir(threads);
	return error;
}

/* Processes that outlive the program. */

enum { LOOKS = 4 }; /* walks through /proc in one call, at most */

/*
 * Processes that are older than the directory's first recorder, whose start is in its name, are
 * none of its: of these only the start is read. *has_ended: set to 1 if a process ended during the
 * walk.
 */
static pid_t find_under(const char *directory, pid_t but, int *has_ended)
{
	DIR *all = opendir("/proc");
	pid_t found = 0, self = getpid();
	const char *slash = strrchr(directory, '/');
	unsigned long long since;

	if (sscanf(slash ? slash : directory, "/brick-%*d-%llu-", &since) != 1)
		since = process_start_time(self);

	for (struct dirent *entry; all && !found && (entry = readdir(all));) {
		pid_t pid = atoi(entry->d_name); /* 0 of what is no process */
		if (pid <= 0 || pid == self || pid == but)
			continue;
		unsigned long long start = process_start_time(pid);
		if (start && start < since)
			continue;
		bool is_ours = process_is_under(pid, directory) == PROCESS_IS;
		if (!process_start_time(pid))
			*has_ended = 1;
		else if (is_ours)
			found = pid;
	}
	if (all)
		closedir(all);
	return found;
}

/*
 * Walks through all of /proc only if the process that was found last has ended. Walks again if a
 * process ended during the walk, because that process may have left a child behind the walk.
 */
pid_t process_find_straggler(struct process *held, const char *directory, pid_t but)
{
	if (held->pid && !process_has_ended(held))
		return held->pid;
	if (held->pid)
		process_release(held);
	held->pid = 0;
	pid_t found = 0;
	for (int i = 0, again = 1; i < LOOKS && again && !found; i++) {
		again = 0;
		found = find_under(directory, but, &again);
	}
	if (found)
		*held = process_hold(found);
	return found;
}

uint64_t process_peak_bytes(pid_t pid)
{
	char path[64], kilobytes[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file_field(path, "VmHWM", kilobytes, sizeof(kilobytes));
	return strtoull(kilobytes, NULL, 10) * 1024;
}
