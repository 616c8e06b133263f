/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals: a shell or a supervisor signals the recorder, which stands in for the program, so the
 * `forwarded` signals go to the program. The terminal's signals have reached the program already.
 * SIGXFSZ and SIGPIPE, which could end the recorder in the middle of a write, are ignored. The
 * `fatal` signals print where the recording is before they end the recorder; the program runs on.
 *
 * Fork and exec: the child waits at the pipe `go` until the program is followed. It sends exec's
 * error through the pipe `report`, which a successful exec closes, so that a missing command is
 * known before anything is recorded.
 */
#include "record/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals. */

static const int forwarded[] = {
	SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR};
static const int fatal[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGXCPU};

static char fatal_message[512]; /* static: a signal handler reads it; one recorder per process */

int signals_take(struct signals *s)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGQUIT);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&blocked, forwarded[i]);
	s->fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &blocked, &s->mask);
	/* an ignored SIGCHLD, inherited, would make the child's exit code vanish */
	sigaction(SIGCHLD, &standard, &s->child);
	sigaction(SIGXFSZ, &ignore, &s->file_size);
	sigaction(SIGPIPE, &ignore, &s->pipe);
	return 0;
}

void signals_restore(const struct signals *s)
{
	sigaction(SIGCHLD, &s->child, NULL);
	sigaction(SIGXFSZ, &s->file_size, NULL);
	sigaction(SIGPIPE, &s->pipe, NULL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

void signals_close(struct signals *s)
{
	close(s->fd);
	s->fd = -1;
}

static void say_and_die(int number)
{
	ssize_t written = write(STDERR_FILENO, fatal_message, strlen(fatal_message));

	(void)written; /* without the message, the signal acts all the same */
	raise(number);
}

void signals_fatal_message(const char *text)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	if (text) {
		action.sa_handler = say_and_die;
		action.sa_flags = SA_RESETHAND | SA_NODEFER;
		snprintf(fatal_message, sizeof(fatal_message), "%s\n", text);
	}
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigaction(fatal[i], &action, NULL);
}

/* True if the terminal's driver, not a process, sent the signal: to the whole foreground group. */
static bool is_of_terminal(const struct signalfd_siginfo *info)
{
	return (info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT) && info->ssi_code > 0;
}

enum signals_event signals_next(const struct signals *s, int *number)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return SIGNALS_NONE;
	*number = (int)info.ssi_signo;
	if (*number == SIGCHLD)
		return SIGNALS_CHILD;
	return is_of_terminal(&info) ? SIGNALS_INTERRUPT : SIGNALS_FORWARD;
}

/* The program. */

int program_failure_code(int error)
{
	return error == ENOENT ? 127 : 126;
}

enum { OUT, IN }; /* ends of a pipe */

static void close_pipe(const int pipe[2])
{
	close(pipe[OUT]);
	close(pipe[IN]);
}

static ssize_t program_read_all(int fd, void *to, size_t bytes)
{
	ssize_t n;

	do
		n = read(fd, to, bytes);
	while (n < 0 && errno == EINTR);
	return n;
}

static void __attribute__((noreturn)) program_become(
	char *const *argv, const struct environment *env, const struct signals *signals, int report)
{
	int error = -environment_apply(env);

	if (!error) {
		signals_restore(signals);
		execvp(argv[0], argv);
		error = errno;
	}
	ssize_t n = write(report, &error, sizeof(error));
	_exit(n == sizeof(error) ? program_failure_code(error) : 127);
}

int program_start(char *const *argv, const struct environment *env, const struct signals *signals,
	program_follow_fn follow, void *context)
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
		/* blocks until the parent closes its end, also by dying */
		char byte;
		close(go[IN]);
		program_read_all(go[OUT], &byte, 1);
		close(go[OUT]);
		program_become(argv, env, signals, report[IN]);
	}
	if (pid < 0)
		error = errno;
	else
		follow(context, pid);
	close_pipe(go);
	close(report[IN]);
	ssize_t n = pid > 0 ? program_read_all(report[OUT], &error, sizeof(error)) : 0;
	close(report[OUT]);
	if (pid > 0 && n == (ssize_t)sizeof(error))
		waitpid(pid, NULL, 0);
	else
		error = pid < 0 ? error : 0;
	return error ? -error : pid;
}

static uint64_t program_timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000ull + (uint64_t)t->tv_usec * 1000u;
}

static bool is_in_foreground(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			return tcgetpgrp(fd) == getpgrp();
	return false;
}

bool program_has_stopped(pid_t pid)
{
	siginfo_t info = {0};

	return is_in_foreground() && !waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) &&
	       info.si_pid == pid && info.si_code == CLD_STOPPED;
}

bool program_has_ended(pid_t pid, struct program_end *end)
{
	struct rusage usage;
	int status;
	pid_t ended;

	do
		ended = wait4(pid, &status, WNOHANG, &usage);
	while (ended < 0 && errno == EINTR);
	if (ended != pid)
		return false;
	end->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	end->minor_faults = (uint64_t)usage.ru_minflt;
	end->major_faults = (uint64_t)usage.ru_majflt;
	end->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	end->system_ns = program_timeval_ns(&usage.ru_stime);
	end->cpu_ns = program_timeval_ns(&usage.ru_utime) + program_timeval_ns(&usage.ru_stime);
	return true;
}
