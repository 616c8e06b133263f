/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a live view: the sessions of a tree of processes, or of a command that is started
 * under a recorder. Makes a run on demand, and reads no records in between. One source per process;
 * it installs the SIGBUS handler of record_guard.h. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "trace/run.h"

/* Find the time to the first token in a run: 1, and *ttft_ns is written; 0: it is not there. */
typedef int (*live_first_token_fn)(const struct run *run, uint64_t *ttft_ns);

struct live_source;

/*
 * Make a source of the sessions of a process and of all that it has started. 0; -ENOENT: no such
 * process; -EACCES: it is another user's; BRICK_ENOTRECORDED: it has no usable session; or -errno.
 * *why: the reason why a session is unusable (static text), or NULL.
 */
int live_source_process(
	struct live_source **out, pid_t pid, live_first_token_fn first_token, const char **why);

/* A command line that runs a recorder. */
struct live_command {
	char *const *argv;     /* of the recorder, NULL-terminated; argv[0] is its path */
	const char *log;       /* a file that gets stdout and stderr */
	const char *directory; /* see keeper_start(); NULL: none */
};

/* Start the command, and make a source of the sessions that it records. 0 or -errno. */
int live_source_command(struct live_source **out, const struct live_command *command,
	live_first_token_fn first_token);

/* Look for new sessions, and update the state of all. Cheap. */
void live_source_look(struct live_source *source);

struct live_status {
	const char *state;  /* "live", "ended", ...: a few words; static text */
	const char *reason; /* a sentence that says why this run is the last; NULL: it is not */
	int over;	    /* no newer run will come */
	int running;	    /* the started command has not ended */
	int exit_code;	    /* of the started command after its end, as a shell sees it */
	size_t sessions;    /* so far */
};

/* As of the last live_source_look(). */
struct live_status live_source_status(const struct live_source *source);

/*
 * Make a run of the sessions' present contents. 1: *out is a new run, the caller's; 0: there is no
 * session yet; negative: it cannot be made now, but perhaps later. *ttft_ns, the time to the first
 * token, is written if it is known: if a run has had these records before they were overwritten.
 */
int live_source_run(struct live_source *source, struct run **out, uint64_t *ttft_ns);

/* Make statistics count from the next run on. */
void live_source_reset(struct live_source *source);

/*
 * End the command with SIGTERM, and after `patience_ms` with SIGKILL: false then. Returns when it
 * has ended.
 */
bool live_source_end(struct live_source *source, unsigned patience_ms);

/* NULL is legal; a command that still runs goes on. */
void live_source_destroy(struct live_source *source);
