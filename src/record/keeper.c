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

static bool is_kept(const struct keeper_task *task, int fd)
{
	for (size_t i = 0; i < task->kept_count; i++)
		if (task->kept[i] == fd)
			return true;
	return false;
}

/* Inherited descriptors would keep others' pipes open and our locks held. */
static void close_others(const struct keeper_task *task)
{
	int last = USUAL_DESCRIPTORS - 1;

	for (size_t i = 0; i < task->kept_count; i++)
		last = task->kept[i] > last ? task->kept[i] : last;
	for (int fd = 1; fd <= last; fd++)
		if (!is_kept(task, fd))
			close(fd);
	syscall(SYS_close_range, last + 1, ~0u, 0); /* since Linux 5.9 */
}

static void __attribute__((noreturn)) keeper_keep(int fd, const struct keeper_task *task)
{
	pid_t pid = 0, next;
	ssize_t n;

	setsid(); /* the terminal's signals must not reach the keeper */
	pthread_setname_np(pthread_self(), "brick-keeper");
	dup2(fd, 0);
	close_others(task);
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
	if (task->killed)
		task->killed(task->context);
	if (task->waits)
		keeper_wait(task->directory);
	if (task->directory) {
		DIR *list = opendir(task->directory);
		struct dirent *entry;
		while (list && (entry = readdir(list)))
			unlinkat(dirfd(list), entry->d_name, 0);
		if (list)
			closedir(list);
		rmdir(task->directory);
	}
	_exit(0);
}

int keeper_start(struct keeper *keeper, const struct keeper_task *task)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	keeper->pid = fork();
	if (!keeper->pid) {
		close(ends[1]);
		keeper_keep(ends[0], task);
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
