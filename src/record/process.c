/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is held by a pidfd, which no other process can take over with the number; without
 * pidfds its start time tells it apart. NSpid in /proc/PID/status (proc_pid_status(5)) has a
 * thread's number in our namespace and in each inner one; the last is what the thread itself gets
 * from getpid() or gettid().
 */
#include "record/process.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/file.h"

unsigned long long process_start_time(pid_t pid)
{
	char path[64], text[1024], state;
	long threads;
	unsigned long long start;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!file_begin(path, text, sizeof(text)))
		return 0;
	/* the name in parentheses may hold anything, parentheses too */
	const char *at = strrchr(text, ')');
	if (!at || sscanf(at,
			   ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			   "%*d %ld %*d %llu",
			   &state, &threads, &start) != 3)
		return 0;
	/* dead, but for being waited for; with other threads alive only its first thread is */
	if ((state == 'Z' || state == 'X') && threads <= 1)
		return 0;
	return start;
}

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

/* What it has of a recorder. */

/* PF_EXITING of the kernel: it has no memory any more, and files of it are root's. */
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

/* Of what ended meanwhile nothing is there to be read, or to be opened: it may have. */
static enum process_is has(pid_t pid, const char *file, int separator, const char *wanted)
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

int process_maps(pid_t pid, const char *session)
{
	return has(pid, "maps", '\n', session) == PROCESS_IS;
}

/* Was it started under a recorder? 1 also where we may not look. */
static bool may_be_recorded(pid_t pid)
{
	return has(pid, "environ", '\0', "BRICK_SESSION_DIR=") != PROCESS_IS_NOT;
}

enum process_is process_is_under(pid_t pid, const char *directory)
{
	enum process_is is = has(pid, "environ", '\0', directory);

	/* an environment may be empty, the memory of a process that lives is not */
	return is == PROCESS_IS ? is : has(pid, "maps", '\n', directory);
}

/* Numbers in other PID namespaces. */

/* 0: it has ended, or may not be looked at. */
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

/* "" where it may not be looked at. */
static void namespace_of(const char *process, char *out, size_t bytes)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/ns/pid", process);
	file_link(path, out, bytes);
}

/* Are the numbers in /proc ours? It may be that of another namespace. */
static bool proc_has_our_numbers(void)
{
	char self[32];

	file_link("/proc/self", self, sizeof(self));
	return atoi(self) == getpid();
}

/*
 * The process that maps the session and calls itself `pid`; 0: none, or it is hidden. Processes of
 * our own namespace are told apart by a link, as reading the status of all would take milliseconds.
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

enum { LOOKS = 4 };

static pid_t find_under(const char *directory, pid_t but, int *has_ended)
{
	DIR *all = opendir("/proc");
	pid_t found = 0, self = getpid();

	for (struct dirent *entry; all && !found && (entry = readdir(all));) {
		pid_t pid = atoi(entry->d_name); /* 0 of what is no process */
		if (pid <= 0 || pid == self || pid == but)
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
 * All of /proc is looked through only when the one that was found last has ended; and again when
 * somebody ended meanwhile, who may have left one that was not there yet.
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
