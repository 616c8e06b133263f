/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pictures of a live view come from: the sessions of a process, or of a command that is
 * recorded for it. Runs are made on demand; nothing is read in between. Once per process, which
 * gets the SIGBUS handler of record_guard.h. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "trace/run.h"

/* 1: the time to the first token is known from these records, and in *ttft_ns. */
typedef int (*live_first_token_fn)(const struct run *run, uint64_t *ttft_ns);

struct live_source;

/*
 * The sessions of a process: its own, or those of all that it records when it is a recorder.
 * -ENOENT: no such process. -EACCES. BRICK_ENOTRECORDED: it has none. -errno. *why: static text
 * where there is more to say, else NULL.
 */
int live_source_process(
	struct live_source **out, pid_t pid, live_first_token_fn first_token, const char **why);

/* A command line that runs a recorder, whose output goes to a file. -errno. */
struct live_command {
	char *const *argv; /* of the recorder, NULL-terminated; argv[0] is its path */
	const char *log;   /* gets stdout and stderr */
	const char
		*directory; /* to be removed if we are killed, as the command is ended; or NULL */
};
int live_source_command(struct live_source **out, const struct live_command *command,
	live_first_token_fn first_token);

/* Look for sessions that joined, and at how all of them are. Cheap. */
void live_source_look(struct live_source *source);

struct live_status {
	const char *state;  /* "live", "ended", ...: a few words */
	const char *reason; /* a sentence when the picture is the last; NULL */
	int over;	    /* no newer run will come */
	int running;	    /* the command that was started has not ended */
	int exit_code;	    /* of that command once it has ended, as the shell sees it */
	size_t sessions;
};
struct live_status live_source_status(const struct live_source *source);

/*
 * What the sessions hold now. 1: *out is a new run. 0: there is nothing yet. Negative: it cannot be
 * made now. *ttft_ns, to the first token, is written when it is known: when it was recorded while
 * its records were there.
 */
int live_source_run(struct live_source *source, struct run **out, uint64_t *ttft_ns);

/* Count statistics from now on. */
void live_source_reset(struct live_source *source);

/* End the command: asks it to, and after `patience_ms` makes it. Then it is over. */
void live_source_end(struct live_source *source, unsigned patience_ms);

/* NULL is legal; a command that still runs goes on. */
void live_source_destroy(struct live_source *source);
