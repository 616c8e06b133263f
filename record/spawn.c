/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork and exec, with exec's error sent back through a pipe that a successful exec closes, so that
 * a missing command is known before anything is recorded.
 */
#include "record/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void __attribute__((noreturn))
become(char *const *argv, const struct environment *env, const struct signals *signals, int report)
{
	int error = -environment_apply(env);

	if (!error) {
		signals_restore(signals);
		execvp(argv[0], argv);
		error = errno;
	}
	ssize_t n = write(report, &error, sizeof error);
	_exit(n == sizeof error ? spawn_failure_code(error) : 127);
}

int spawn_program(char *const *argv, const struct environment *env, const struct signals *signals)
{
	int report[2], error = 0;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		become(argv, env, signals, report[1]);
	if (pid < 0)
		error = errno;
	close(report[1]);
	ssize_t n = 0;
	if (pid > 0) {
		do
			n = read(report[0], &error, sizeof error);
		while (n < 0 && errno == EINTR);
	}
	close(report[0]);
	if (pid > 0 && n == (ssize_t)sizeof error)
		waitpid(pid, NULL, 0);
	else
		error = pid < 0 ? error : 0;
	return error ? -error : pid;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000ull + (uint64_t)t->tv_usec * 1000u;
}

int spawn_wait(pid_t pid, int block, struct spawn_result *result)
{
	struct rusage usage;
	int status;
	pid_t ended;

	do
		ended = wait4(pid, &status, block ? 0 : WNOHANG, &usage);
	while (ended < 0 && errno == EINTR);
	if (ended != pid)
		return 0;
	result->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	result->cpu_ns = timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
	return 1;
}

int spawn_failure_code(int error)
{
	return error == ENOENT ? 127 : 126;
}
