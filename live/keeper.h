/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process beside ours that notices when we are killed: it ends the command that we run, and
 * removes what we would have removed. One thread.
 */
#ifndef BRICK_LIVE_KEEPER_H
#define BRICK_LIVE_KEEPER_H

#include <sys/types.h>

struct live_keeper {
	pid_t pid; /* 0: none */
	int fd;	   /* its end comes when we end */
};

/* directory: with files in it, to be removed; NULL: none. 0 or -errno. */
int live_keeper_start(struct live_keeper *keeper, const char *directory);

/* The command to end with all of its process group; 0: it has ended. */
void live_keeper_watch(struct live_keeper *keeper, pid_t pid);

/* We end in good order, and see to everything ourselves. */
void live_keeper_stop(struct live_keeper *keeper);

#endif
