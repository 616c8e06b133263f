/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper reads from a pipe, and we alone have the other end: the kernel closes that end however
 * we end. (PR_SET_PDEATHSIG would act at the end of the thread that forked.)
 */
#include "record/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "record/process.h"
#include "record/session_dir.h"

enum {
	PATIENCE_MS = 3000, /* between SIGTERM and SIGKILL */
	LOOK_MS = 20,
	WAIT_S = 1,
	USUAL_DESCRIPTORS = 1024, /* the usual limit (RLIMIT_NOFILE) */
};

/* Waits until the directory is gone, or has neither a recorder nor a process that lives. */
static void keeper_wait(const char *directory)
{
	struct process held = {0};
	struct stat st;

	/* first of all the kernel frees what the recorder had */
	do {
		nanosleep(&(struct timespec){WAIT_S, 0}, NULL);
		if (stat(directory, &st))
			_exit(0);
	} while (!session_dir_is_left(directory) || process_find_straggler(&held, directory, 0));
}

static void __attribute__((noreturn))
keeper_keep(int fd, int lock_fd, const char *directory, keeper_fn killed, void *context)
{
	pid_t pid = 0, next;
	ssize_t n;

	setsid(); /* the terminal's signals must not reach the keeper */
	pthread_setname_np(pthread_self(), "brick-keeper");
	/* inherited descriptors would keep others' pipes open and our locks held */
	bool waits = lock_fd >= 0;
	dup2(fd, 0);
	if (waits)
		dup2(lock_fd, 1);
	if (syscall(SYS_close_range, 1 + waits, ~0u, 0)) /* before Linux 5.9 */
		for (int i = 1 + waits; i < USUAL_DESCRIPTORS; i++)
			close(i);
	while ((n = read(0, &next, sizeof(next))) > 0 || (n < 0 && errno == EINTR))
		if (n == (ssize_t)sizeof(next))
			pid = next;
	if (pid > 0) {
		const struct timespec look = {0, LOOK_MS * 1000000};
		kill(pid, SIGTERM);
		for (int waited = 0; waited < PATIENCE_MS && !kill(-pid, 0); waited += LOOK_MS)
			nanosleep(&look, NULL);
		kill(-pid, SIGKILL);
	}
	if (killed)
		killed(context);
	if (waits)
		keeper_wait(directory);
	if (directory) {
		DIR *list = opendir(directory);
		struct dirent *entry;
		while (list && (entry = readdir(list)))
			unlinkat(dirfd(list), entry->d_name, 0);
		if (list)
			closedir(list);
		rmdir(directory);
	}
	_exit(0);
}

static int keeper_fork(
	struct keeper *keeper, const char *directory, int lock_fd, keeper_fn killed, void *context)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	keeper->pid = fork();
	if (!keeper->pid) {
		close(ends[1]);
		keeper_keep(ends[0], lock_fd, directory, killed, context);
	}
	int error = keeper->pid < 0 ? -errno : 0;
	close(ends[0]);
	keeper->fd = ends[1];
	if (error) {
		close(ends[1]);
		keeper->pid = 0;
	}
	return error;
}

int keeper_start(struct keeper *keeper, const char *directory, keeper_fn killed, void *context)
{
	return keeper_fork(keeper, directory, -1, killed, context);
}

int keeper_start_waiting(struct keeper *keeper, const char *directory, int lock_fd)
{
	return keeper_fork(keeper, directory, lock_fd, NULL, NULL);
}

void keeper_leave(struct keeper *keeper)
{
	if (!keeper->pid)
		return;
	close(keeper->fd);
	keeper->pid = 0;
}

void keeper_watch(struct keeper *keeper, pid_t pid)
{
	/* without a keeper only a killed recorder leaves something behind */
	if (keeper->pid && write(keeper->fd, &pid, sizeof(pid)) < 0)
		keeper_stop(keeper);
}

void keeper_stop(struct keeper *keeper)
{
	if (!keeper->pid)
		return;
	kill(keeper->pid, SIGKILL);
	waitpid(keeper->pid, NULL, 0);
	close(keeper->fd);
	keeper->pid = 0;
}
