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
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 3000, /* between SIGTERM and SIGKILL */
	LOOK_MS = 20,
	USUAL_DESCRIPTORS = 1024, /* the usual limit (RLIMIT_NOFILE) */
};

static void __attribute__((noreturn))
keeper_keep(int fd, const char *directory, keeper_fn killed, void *context)
{
	pid_t pid = 0, next;
	ssize_t n;

	setsid(); /* the terminal's signals must not reach the keeper */
	pthread_setname_np(pthread_self(), "brick-keeper");
	/* inherited descriptors would keep others' pipes open and our locks held */
	dup2(fd, 0);
	if (syscall(SYS_close_range, 1, ~0u, 0)) /* before Linux 5.9 */
		for (int i = 1; i < USUAL_DESCRIPTORS; i++)
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

int keeper_start(struct keeper *keeper, const char *directory, keeper_fn killed, void *context)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	keeper->pid = fork();
	if (!keeper->pid) {
		close(ends[1]);
		keeper_keep(ends[0], directory, killed, context);
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
