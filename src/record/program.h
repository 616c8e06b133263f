/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the recorded program, the signals that it and the recorder get, and how it ends. One
 * thread, before any other is created.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "record/inject/inject.h"

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

/* What to say on standard error when a signal is about to end the recorder; NULL: nothing. */
void signals_fatal_message(const char *text);

/* What a signal means to the recorder. */
enum signals_event {
	SIGNALS_NONE,	   /* no more */
	SIGNALS_CHILD,	   /* a child may have ended */
	SIGNALS_FORWARD,   /* *number is for the program */
	SIGNALS_INTERRUPT, /* from the terminal, which has given it to the program too */
};
enum signals_event signals_next(const struct signals *s, int *number);

/* Called with the program's pid before its exec, which waits for that. */
typedef void (*program_follow_fn)(void *context, pid_t pid);

/* Run argv, found like a shell does. The pid, or -errno of exec (or of what precedes it). */
int program_start(char *const *argv, const struct environment *env, const struct signals *signals,
	program_follow_fn follow, void *context);

/* How a program ended. */
struct program_end {
	int exit_code;	       /* as the shell sees it */
	uint64_t cpu_ns;       /* of it and of those of its children that it has waited for */
	uint64_t system_ns;    /* of these, in the kernel */
	uint64_t major_faults; /* of the same */
};

/* Has it ended? Returns 1 and fills in *end; 0: not yet. */
/*
 * It has stopped (SIGSTOP), and we are in the foreground of a terminal, whose shell waits for us to
 * stop, too. Told once for each stop.
 */
bool program_has_stopped(pid_t pid);

bool program_has_ended(pid_t pid, struct program_end *end);

/* What a shell returns when exec fails with this errno. */
int program_failure_code(int error);
