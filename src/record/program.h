/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the recorded program, handling the signals that the recorder and the program get, and
 * waiting for the program's end. One thread. signals_take() and program_start() come before the
 * process has another thread, because threads inherit the signal mask and fork() copies only one.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "record/inject/inject.h"

struct signals {
	int fd;			    /* signalfd(2): readable when a signal waits */
	sigset_t mask;		    /* the inherited signal mask */
	struct sigaction child;	    /* the inherited action of SIGCHLD */
	struct sigaction file_size; /* ... of SIGXFSZ */
	struct sigaction pipe;	    /* ... of SIGPIPE */
};

/*
 * Block the signals that signals_next() reports, and ignore SIGXFSZ and SIGPIPE. 0 or -errno. Ends
 * with signals_restore() and signals_close().
 */
int signals_take(struct signals *s);

/* Restore the inherited mask and actions. The child of program_start() does so before its exec. */
void signals_restore(const struct signals *s);
void signals_close(struct signals *s);

/*
 * Set the line that a fatal signal prints to standard error before it ends the recorder; NULL:
 * nothing. The text is copied; it has at most 510 bytes.
 */
void signals_fatal_message(const char *text);

/* What a signal means to the recorder. */
enum signals_event {
	SIGNALS_NONE,	   /* no signal waits */
	SIGNALS_CHILD,	   /* a child may have ended or stopped */
	SIGNALS_FORWARD,   /* the caller sends signal *number to the program */
	SIGNALS_INTERRUPT, /* the terminal sent *number to the program, too */
};
/* Take the next signal. Never blocks. *number stays as it is with SIGNALS_NONE. */
enum signals_event signals_next(const struct signals *s, int *number);

/* Called once in the parent with the program's pid; the exec waits until it returns. */
typedef void (*program_follow_fn)(void *context, pid_t pid);

/*
 * Run argv; argv[0] is searched for in PATH. Returns when exec has succeeded or failed: the pid,
 * or -errno of exec or of an earlier step. `follow` may have been called even if exec fails.
 */
int program_start(char *const *argv, const struct environment *env, const struct signals *signals,
	program_follow_fn follow, void *context);

/* How a program ended. */
struct program_end {
	int exit_code;	    /* as a shell sees it: 128 + the signal's number after a signal */
	uint64_t cpu_ns;    /* CPU time of the program and the children that it waited for */
	uint64_t system_ns; /* the part of cpu_ns that was spent in the kernel */
	uint64_t minor_faults, major_faults; /* of the same processes */
	uint64_t peak_bytes;		     /* the most memory that one of these had (VmHWM) */
};

/*
 * True once for each stop of the program (SIGSTOP) while we are in the foreground of a terminal.
 * The caller then stops itself, since the terminal's shell waits for that.
 */
bool program_has_stopped(pid_t pid);

/* True if the program has ended: it is reaped, and *end is written. */
bool program_has_ended(pid_t pid, struct program_end *end);

/* The shell's exit code for an exec that failed with this errno (positive): 127 or 126. */
int program_failure_code(int error);
