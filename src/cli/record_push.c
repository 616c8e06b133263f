/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child reads files as /dev/fd/N. The last one writes to a file in memory, because it may
 * outlive the recorder, and would hold the user's terminal or pipe.
 */
#include "cli/record_push.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/thread.h"
#include "cli/die.h"

enum {
	FIRST_FILE = 10, /* descriptors of the child's files */
	FILES_MOST = RECORD_PUSH_WAITING + 1,
	ARGUMENTS = 5 + FILES_MOST + 1,
	END_S = 10, /* longer than `brick push --background` waits for a server */
};

/* Starts a child for some files, and closes them. said: its standard error, or -1. 0: it failed. */
static pid_t record_push_spawn(
	const struct record_push *p, const int *files, size_t file_count, int said)
{
	char names[FILES_MOST][24];
	char *argv[ARGUMENTS] = {"brick", "push", "--background"};
	size_t count = 3;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t child;

	if (p->db) {
		argv[count++] = "--db";
		argv[count++] = (char *)p->db;
	}
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (said >= 0)
		posix_spawn_file_actions_adddup2(&actions, said, 2);
	for (size_t i = 0; i < file_count; i++) {
		posix_spawn_file_actions_adddup2(&actions, files[i], FIRST_FILE + (int)i);
		snprintf(names[i], sizeof(names[i]), "/dev/fd/%d", FIRST_FILE + (int)i);
		argv[count++] = names[i];
	}
	/* a signal for the program is none for the child */
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	if (posix_spawn(&child, "/proc/self/exe", &actions, &attributes, argv, environ))
		child = 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < file_count; i++)
		close(files[i]);
	return child;
}

static bool record_push_failed(pid_t child, uint64_t *cost_ns)
{
	struct rusage used = {0};
	int status = 0;

	while (child && wait4(child, &status, 0, &used) < 0 && errno == EINTR)
		;
	*cost_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NS_PER_S +
		   (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
	return !child || status != 0;
}

/* Copies what a child wrote. False: it wrote nothing. */
static bool record_push_tell(int said)
{
	char text[4096];
	off_t at = 0;

	for (ssize_t n; (n = pread(said, text, sizeof(text), at)) > 0; at += n)
		fwrite(text, 1, (size_t)n, stderr);
	return at > 0;
}

/* A server tells complaints, unless the last child had some, too. True: there are some. */
static bool record_push_complains(const struct record_push *p, int said)
{
	struct stat st;

	return said >= 0 && !fstat(said, &st) && st.st_size > 0 &&
	       (p->is_failing || record_push_tell(said));
}

static void *record_push_run(void *argument)
{
	struct record_push *p = argument;

	pthread_setname_np(pthread_self(), "brick-push");
	pthread_mutex_lock(&p->lock);
	while (p->count || !p->is_ending) {
		if (!p->count) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		int file = p->waiting[0];
		memmove(p->waiting, p->waiting + 1, --p->count * sizeof(file));
		bool is_last = p->is_ending && !p->count;
		int own = p->is_server ? memfd_create("brick-push", MFD_CLOEXEC) : -1;
		int said = own < 0 && is_last ? p->said : own;
		p->is_sending = true;
		pthread_mutex_unlock(&p->lock);
		uint64_t cost_ns;
		bool is_lost = record_push_failed(record_push_spawn(p, &file, 1, said), &cost_ns);
		is_lost |= record_push_complains(p, own);
		if (own >= 0)
			close(own);
		pthread_mutex_lock(&p->lock);
		p->is_sending = false;
		p->is_failing = is_lost;
		p->lost += is_lost;
		p->sent += !is_lost;
		p->cost_ns = cost_ns;
	}
	p->is_over = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void record_push_start(struct record_push *p)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	p->has_thread = thread_start(&p->thread, NULL, 0, record_push_run, p) == 0;
	p->is_over = !p->has_thread;
}

/* Closes a file and returns it as one for a child; -1: it cannot. */
static int record_push_take(int fd)
{
	/* above the child's numbers, so that no dup2() takes another file's place */
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FILE + FILES_MOST);

	if (fd >= 0)
		close(fd);
	return high;
}

/* Under the lock: lets a file wait, if no more than `most` do then. */
static void record_push_hold(struct record_push *p, int file, size_t most)
{
	if (file >= 0 && p->count < most && p->has_thread) {
		p->waiting[p->count++] = file;
		return;
	}
	p->lost++;
	if (file >= 0)
		close(file);
}

void record_push_open_file(struct record_push *p, int file)
{
	file = record_push_take(file);
	pthread_mutex_lock(&p->lock);
	record_push_hold(p, file, RECORD_PUSH_WAITING);
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void record_push_file(void *push, const char *path)
{
	record_push_open_file(push, open(path, O_RDONLY | O_CLOEXEC));
}

bool record_push_is_busy(struct record_push *p)
{
	pthread_mutex_lock(&p->lock);
	bool is_busy = p->count || p->is_sending;
	pthread_mutex_unlock(&p->lock);
	return is_busy;
}

void record_push_end(struct record_push *p, const char *path)
{
	const struct timespec end = timespec_in_ns(CLOCK_MONOTONIC, END_S * NS_PER_S);

	int file = path ? record_push_take(open(path, O_RDONLY | O_CLOEXEC)) : -1;

	pthread_mutex_lock(&p->lock);
	if (path)
		record_push_hold(p, file, FILES_MOST);
	p->said = memfd_create("brick-push", MFD_CLOEXEC);
	p->is_ending = true;
	pthread_cond_broadcast(&p->changed);
	while (!p->is_over && pthread_cond_timedwait(&p->changed, &p->lock, &end) != ETIMEDOUT)
		;
	if (p->is_over) {
		record_push_tell(p->said);
	} else {
		size_t left = p->count + p->is_sending;
		if (p->count && !record_push_spawn(p, p->waiting, p->count, -1)) {
			p->lost += p->count;
			left -= p->count;
		}
		p->count = 0;
		if (left)
			warn("push: %zu of the recording's files could not be sent within %d s; "
			     "'brick push' goes on with %s in the background",
				left, END_S, left > 1 ? "them" : "it");
	}
	if (p->lost && !p->is_server) /* which sends them again */
		warn("push: %llu of the recording's files could not be sent",
			(unsigned long long)p->lost);
	pthread_mutex_unlock(&p->lock);
}
