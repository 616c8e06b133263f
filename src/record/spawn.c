/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork and exec, which waits on one pipe until the program is followed, with exec's error sent back
 * through another that a successful exec closes, so that a missing command is known before anything
 * is recorded.
 */
#include "record/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT, IN }; /* ends of a pipe */

static void close_pipe(const int pipe[2])
{
	close(pipe[OUT]);
	close(pipe[IN]);
}

static ssize_t read_all(int fd, void *to, size_t bytes)
{
	ssize_t n;

	do
		n = read(fd, to, bytes);
	while (n < 0 && errno == EINTR);
	return n;
}

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

/* Until the parent closes its end, as it does when it dies, too. */
static void wait_for(const int go[2])
{
	char byte;

	close(go[IN]);
	read_all(go[OUT], &byte, 1);
	close(go[OUT]);
}

int spawn_program(char *const *argv, const struct environment *env, const struct signals *signals,
	spawn_follow_fn follow, void *context)
{
	int report[2], go[2], error = 0;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(go, O_CLOEXEC) < 0) {
		error = -errno;
		close_pipe(report);
		return error;
	}
	pid_t pid = fork();
	if (pid == 0) {
		wait_for(go);
		become(argv, env, signals, report[IN]);
	}
	if (pid < 0)
		error = errno;
	else
		follow(context, pid);
	close_pipe(go);
	close(report[IN]);
	ssize_t n = pid > 0 ? read_all(report[OUT], &error, sizeof error) : 0;
	close(report[OUT]);
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
