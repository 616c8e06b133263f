/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the recorded program, and waiting for it. One thread. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "record/inject/environment.h"
#include "record/signals.h"

/* Called with the program's pid before its exec, which waits for that. */
typedef void (*spawn_follow_fn)(void *context, pid_t pid);

/* Run argv, found like a shell does. The pid, or -errno of exec (or of what precedes it). */
int spawn_program(char *const *argv, const struct environment *env, const struct signals *signals,
	spawn_follow_fn follow, void *context);

/* How a program ended. */
struct spawn_result {
	int exit_code;	 /* as the shell sees it */
	uint64_t cpu_ns; /* of it and of those of its children that it has waited for */
};

/* Has it ended? Returns 1 and fills in *result; 0: not yet. block: wait for it. */
int spawn_wait(pid_t pid, int block, struct spawn_result *result);

/* What a shell returns when exec fails with this errno. */
int spawn_failure_code(int error);
