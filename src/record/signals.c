/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which signals concern the recorder: those that a shell or supervisor sends to it because it
 * stands in for the program are passed on; those of the terminal have reached the program already;
 * those that would end it half-way through writing are ignored. The others that end it say first
 * where the recording is; the program runs on.
 */
#include "record/signals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int forwarded[] = {
	SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR};
static const int fatal[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGXCPU};

static char last_words[512]; /* of the one recorder of this process */

int signals_take(struct signals *s)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGQUIT);
	for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
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
	ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));

	(void)written; /* where it cannot be said, the signal acts all the same */
	raise(number);
}

void signals_last_words(const char *text)
{
	struct sigaction action = {
		.sa_handler = say_and_die, .sa_flags = SA_RESETHAND | SA_NODEFER};

	snprintf(last_words, sizeof last_words, "%s\n", text);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		sigaction(fatal[i], &action, NULL);
}

void signals_no_last_words(void)
{
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		signal(fatal[i], SIG_DFL);
}

/* From the terminal's driver, which has signalled the whole foreground group, and no process. */
static int is_of_terminal(const struct signalfd_siginfo *info)
{
	return (info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT) && info->ssi_code > 0;
}

enum signals_event signals_next(const struct signals *s, int *number)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof info) != sizeof info)
		return SIGNALS_NONE;
	*number = (int)info.ssi_signo;
	if (*number == SIGCHLD)
		return SIGNALS_CHILD;
	return is_of_terminal(&info) ? SIGNALS_INTERRUPT : SIGNALS_FORWARD;
}
