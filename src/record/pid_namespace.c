/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NSpid in /proc/PID/status (proc_pid_status(5)) has a thread's number in our namespace and in
 * each further in; the last is what the thread itself calls getpid() or gettid(). Processes of our
 * own namespace are told apart by a link, as reading the status of all would take milliseconds.
 */
#include "record/pid_namespace.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

/* 0: it has ended, or may not be looked at. */
static pid_t own_number(const char *status)
{
	char text[4096];

	file_begin(status, text, sizeof text);
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

	snprintf(path, sizeof path, "/proc/%.20s/ns/pid", process);
	file_link(path, out, bytes);
}

/* Are the numbers in /proc ours? It may be that of another namespace. */
static int proc_has_our_numbers(void)
{
	char self[32];

	file_link("/proc/self", self, sizeof self);
	return atoi(self) == getpid();
}

/* The process that maps the session and calls itself `pid`. 0: none, or it is hidden. */
static pid_t find(pid_t pid, const char *session)
{
	DIR *all = opendir("/proc");
	char ours[64], theirs[64], path[64];
	pid_t found = 0;

	namespace_of("self", ours, sizeof ours);
	for (struct dirent *entry; all && !found && (entry = readdir(all));) {
		pid_t candidate = atoi(entry->d_name);
		if (candidate <= 0)
			continue;
		namespace_of(entry->d_name, theirs, sizeof theirs);
		snprintf(path, sizeof path, "/proc/%d/status", (int)candidate);
		if (*theirs && strcmp(ours, theirs) != 0 && own_number(path) == pid &&
			process_maps(candidate, session))
			found = candidate;
	}
	if (all)
		closedir(all);
	return found;
}

struct process pid_namespace_hold_writer(pid_t pid, const char *session)
{
	const struct process hidden = {.pidfd = -1};

	if (!proc_has_our_numbers())
		return hidden;
	pid_t ours = process_maps(pid, session) ? pid : find(pid, session);
	if (ours)
		return process_hold(ours);
	return process_may_be_recorded(pid) ? process_hold(pid) : hidden;
}

int pid_namespace_threads(struct hashmap *own_of, pid_t process)
{
	char path[64];
	int error = 0;

	snprintf(path, sizeof path, "/proc/%d/task", (int)process);
	DIR *threads = opendir(path);
	for (struct dirent *entry; threads && !error && (entry = readdir(threads));) {
		int tid = atoi(entry->d_name); /* 0 of "." and ".." */
		if (tid <= 0 || hashmap_get(own_of, (uint64_t)tid) != HASHMAP_NONE)
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)process, tid);
		pid_t own = own_number(path);
		if (own > 0)
			error = hashmap_set(own_of, (uint64_t)tid, (uint64_t)own);
	}
	if (threads)
		closedir(threads);
	return error;
}
