/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which signals concern the recorder: those that a shell or supervisor sends to it because it
 * stands in for the program are passed on; those of the terminal have reached the program already;
 * those that would end it half-way through writing are ignored. All others act as usual.
 */
#include "record/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int forwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

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

enum signals_event signals_next(const struct signals *s, int *number)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof info) != sizeof info)
		return SIGNALS_NONE;
	*number = (int)info.ssi_signo;
	if (*number == SIGCHLD)
		return SIGNALS_CHILD;
	return *number == SIGINT || *number == SIGQUIT ? SIGNALS_INTERRUPT : SIGNALS_FORWARD;
}
