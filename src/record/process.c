/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is held by a pidfd, which no other process can take over with the number; where there
 * are none, by its start time.
 */
#include "record/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned long long process_start_time(pid_t pid)
{
	char path[64], text[1024], state;
	long threads;
	unsigned long long start;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
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

struct process process_hold(pid_t pid)
{
	struct process p = {.pid = pid, .pidfd = -1};

	p.start_time = pid > 0 ? process_start_time(pid) : 0;
	if (p.start_time)
		p.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return p;
}

enum has { NO, YES, GONE };

/* Of what ended meanwhile nothing is there to be read, or to be opened: it may have. */
static enum has has(pid_t pid, const char *file, int separator, const char *wanted)
{
	char path[64], *part = NULL;
	size_t capacity = 0;
	int found = 0, parts = 0;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	FILE *in = fopen(path, "re");
	if (!in)
		return errno != EACCES && errno != EPERM ? GONE : NO;
	for (; !found && getdelim(&part, &capacity, separator, in) > 0; parts++)
		found = strstr(part, wanted) != NULL;
	free(part);
	fclose(in);
	return found ? YES : parts ? NO : GONE;
}

int process_maps(pid_t pid, const char *session)
{
	return has(pid, "maps", '\n', session) == YES;
}

int process_may_be_recorded(pid_t pid)
{
	return has(pid, "environ", '\0', "BRICK_SESSION_DIR=") != NO;
}

int process_is_under(pid_t pid, const char *directory)
{
	return has(pid, "environ", '\0', directory) == YES ||
	       has(pid, "maps", '\n', directory) == YES;
}

int process_has_ended(const struct process *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	if (!p->pid)
		return 0;
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
