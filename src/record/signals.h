/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's signals. It takes them as they come in through a descriptor, and its child starts
 * with exactly what the recorder was started with. One thread, before any other is created.
 */
#pragma once

#include <signal.h>

struct signals {
	int fd;					 /* readable when one has come */
	sigset_t mask;				 /* as inherited */
	struct sigaction child, file_size, pipe; /* as inherited: SIGCHLD, SIGXFSZ, SIGPIPE */
};

/* 0 or -errno. */
int signals_take(struct signals *s);

/* Put back what was inherited: in the child, before it becomes the program; or at the end. */
void signals_restore(const struct signals *s);
void signals_close(struct signals *s);

/* What to say on standard error when a signal is about to end the recorder; and no longer. */
void signals_last_words(const char *text);
void signals_no_last_words(void);

/* What a signal means to the recorder. */
enum signals_event {
	SIGNALS_NONE,	   /* no more */
	SIGNALS_CHILD,	   /* a child may have ended */
	SIGNALS_FORWARD,   /* *number is for the program */
	SIGNALS_INTERRUPT, /* from the terminal, which has given it to the program too */
};
enum signals_event signals_next(const struct signals *s, int *number);
