/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper gets a command as one message of a SOCK_SEQPACKET socket, starts it with
 * posix_spawn(), and answers with a struct launch_reply.
 */
#include "record/runner/turn_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/clock_ns.h"
#include "base/scope.h"

enum {
	READ_MAX = 16 << 20,	 /* the last bytes of an output that are searched */
	GROUPS = 2,		 /* the whole match, and the first group */
	MESSAGE_MAX = 128 << 10, /* the words of a command, with their NULs */
};

static uint64_t turn_launch_timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static struct launcher {
	int fd; /* to the helper; 0: there is none */
	pid_t pid;
} launcher;

struct launch_reply {
	int rc;
	struct launch_result result;
};

static int turn_launch_start(char *const *argv, const char *output, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t standard;

	sigemptyset(&standard);
	sigaddset(&standard, SIGPIPE);
	sigaddset(&standard, SIGINT);
	sigaddset(&standard, SIGTERM);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigdefault(&how, &standard);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	int error = posix_spawnp(pid, argv[0], &files, &how, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	return -error;
}

static int run_here(char *const *argv, const char *output, struct launch_result *result)
{
	struct rusage usage;
	uint64_t begin = monotonic_ns();
	int status;
	pid_t pid, ended;
	int rc = turn_launch_start(argv, output, &pid);

	*result = (struct launch_result){.exit_code = rc == -ENOENT ? 127 : 126};
	if (rc == -ENOENT || rc == -EACCES || rc == -ENOEXEC)
		return 0;
	if (rc < 0)
		return rc;
	do
		ended = wait4(pid, &status, 0, &usage);
	while (ended < 0 && errno == EINTR);
	if (ended < 0)
		return -errno;
	result->wall_ns = monotonic_ns() - begin;
	result->user_ns = turn_launch_timeval_ns(&usage.ru_utime);
	result->system_ns = turn_launch_timeval_ns(&usage.ru_stime);
	result->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	result->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

/* The helper: a message is the words of a command, each with its NUL. */

static int run_message(
	char *message, size_t bytes, const char *output, struct launch_result *result)
{
	size_t words = 0, at = 0;

	for (size_t i = 0; i < bytes; i++)
		words += !message[i];
	SCOPED char **argv = calloc(words + 1, sizeof(*argv));
	if (!argv || !words)
		return -ENOMEM;
	for (size_t i = 0; i < words; i++) {
		argv[i] = message + at;
		at += strlen(message + at) + 1;
	}
	return run_here(argv, output, result);
}

/* The helper's loop, until the caller closes its end of the socket or ends. */
static void turn_launch_serve(int fd, const char *output)
{
	SCOPED char *message = malloc(MESSAGE_MAX);
	ssize_t n;

	signal(SIGINT, SIG_IGN); /* the running program gets it; the caller decides what is next */
	signal(SIGTERM, SIG_IGN);
	while (message && (n = recv(fd, message, MESSAGE_MAX, 0)) > 0) {
		struct launch_reply reply = {0};
		reply.rc = run_message(message, (size_t)n, output, &reply.result);
		if (send(fd, &reply, sizeof(reply), MSG_NOSIGNAL) < 0)
			return;
	}
}

int launch_begin(const char *output)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		turn_launch_serve(fds[1], output);
		_exit(0);
	}
	int error = errno;
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -error;
	}
	launcher = (struct launcher){fds[0], pid};
	return 0;
}

void launch_end(void)
{
	if (!launcher.fd)
		return;
	close(launcher.fd);
	while (waitpid(launcher.pid, NULL, 0) < 0 && errno == EINTR)
		;
	launcher = (struct launcher){0};
}

static int send_words(char *const *argv)
{
	size_t bytes = 0;

	for (size_t i = 0; argv[i]; i++)
		bytes += strlen(argv[i]) + 1;
	if (bytes > MESSAGE_MAX)
		return -E2BIG;
	SCOPED char *message = malloc(bytes + 1);
	if (!message)
		return -ENOMEM;
	char *at = message;
	for (size_t i = 0; argv[i]; i++)
		at = stpcpy(at, argv[i]) + 1;
	return send(launcher.fd, message, bytes, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int launch_run(char *const *argv, struct launch_result *result)
{
	struct launch_reply reply;
	ssize_t n;
	int rc = send_words(argv);

	*result = (struct launch_result){.exit_code = -1};
	if (rc < 0)
		return rc;
	do
		n = recv(launcher.fd, &reply, sizeof(reply), 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(reply))
		return n < 0 ? -errno : -ECHILD;
	*result = reply.result;
	return reply.rc;
}

int launch_value(const char *output, const char *expression, double *value)
{
	regmatch_t groups[GROUPS];
	regex_t regex;
	int found = 0;

	if (regcomp(&regex, expression, REG_EXTENDED | REG_NEWLINE))
		return -EINVAL;
	SCOPED char *text = regex.re_nsub ? file_end(output, READ_MAX) : NULL;
	for (const char *at = text; at && !regexec(&regex, at, GROUPS, groups, 0);
		at += groups[0].rm_eo ? groups[0].rm_eo : 1) {
		char *end;
		double number = groups[1].rm_so < 0 ? 0 : strtod(at + groups[1].rm_so, &end);
		if (groups[1].rm_so >= 0 && end != at + groups[1].rm_so && number > 0) {
			*value = number;
			found = 1;
		}
		if (!at[groups[0].rm_eo])
			break;
	}
	bool has_group = regex.re_nsub > 0;
	regfree(&regex);
	return has_group ? found : -EINVAL;
}

static char *in_one_line(const char *text)
{
	char *line = malloc(3 * strlen(text) + 1), *to = line;

	for (; line && *text; text++)
		to = *text == '\n' ? stpcpy(to, " | ") : stpncpy(to, text, 1);
	if (line)
		*to = '\0';
	return line;
}

char *launch_tail(const char *output, size_t lines)
{
	SCOPED char *text = file_end(output, READ_MAX);
	size_t n = text ? strlen(text) : 0;

	if (!text)
		return strdup("");
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	char *from = text + n;
	while (from > text && (from[-1] != '\n' || --lines))
		from--;
	return in_one_line(from);
}
