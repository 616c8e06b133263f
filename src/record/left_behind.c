/* SPDX-License-Identifier: Apache-2.0 */
/*
 * They have our directory in their environment, or, if they have overwritten that, map a page that
 * lies there. All of /proc is looked through only when the one that was found last has ended; and
 * again when somebody ended meanwhile, who may have left one that was not there yet.
 */
#include "record/left_behind.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOKS = 4 };

static pid_t find(const char *directory, pid_t but, int *has_ended)
{
	DIR *all = opendir("/proc");
	pid_t found = 0, self = getpid();

	for (struct dirent *entry; all && !found && (entry = readdir(all));) {
		pid_t pid = atoi(entry->d_name); /* 0 of what is no process */
		if (pid <= 0 || pid == self || pid == but)
			continue;
		int is_ours = process_is_under(pid, directory);
		if (!process_start_time(pid))
			*has_ended = 1;
		else if (is_ours)
			found = pid;
	}
	if (all)
		closedir(all);
	return found;
}

pid_t left_behind_look(struct left_behind *l, const char *directory, pid_t but)
{
	if (l->process.pid && !process_has_ended(&l->process))
		return l->process.pid;
	left_behind_fini(l);
	pid_t found = 0;
	for (int i = 0, again = 1; i < LOOKS && again && !found; i++) {
		again = 0;
		found = find(directory, but, &again);
	}
	if (found)
		l->process = process_hold(found);
	return found;
}

void left_behind_fini(struct left_behind *l)
{
	if (l->process.pid)
		process_release(&l->process);
	l->process = (struct process){.pidfd = -1};
}
