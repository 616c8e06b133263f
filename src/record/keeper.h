/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process beside ours that notices when we are killed: it ends the command that we run, and
 * removes what we would have removed. One thread.
 */
#pragma once

#include <sys/types.h>

struct keeper {
	pid_t pid; /* 0: none */
	int fd;	   /* its end comes when we end */
};

/* directory: with files in it, to be removed; NULL: none. 0 or -errno. */
int keeper_start(struct keeper *keeper, const char *directory);

/* The command to end with all of its process group; 0: it has ended. */
void keeper_watch(struct keeper *keeper, pid_t pid);

/* We end cleanly, and see to everything ourselves. */
void keeper_stop(struct keeper *keeper);
