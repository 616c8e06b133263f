/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that wait to be sent to a server: a directory with a file for each, named by its id, so that
 * each is there once; their number is bounded. The sender holds its lock. After a failure nobody
 * tries for a while, twice as long each time. Runs are noted before they are sent, as they may
 * reach the server unseen. Any number of processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/history/history_run.h"

enum {
	SPOOL_RUNS_MAX = 100000,
	SPOOL_BATCH = 500, /* runs that are sent together */
	SPOOL_PAUSE_MIN_S = 1,
	SPOOL_PAUSE_MAX_S = 600,
};

struct spool {
	char *directory;
	int lock;     /* -1: not held */
	size_t count; /* as far as this process knows; 0: not counted yet */
};

/* Opens the spool of a server, in the user's data directory; made if need be. -errno. */
int spool_open(struct spool *spool, const char *server);
void spool_close(struct spool *spool);

/* On the disk when it returns. -ENOSPC: there are too many, or the disk is full. */
int spool_add(struct spool *spool, const struct history_run *run);

/* -EAGAIN: somebody else is sending. */
int spool_lock(struct spool *spool);

struct spool_batch {
	ARRAY(struct history_run) runs;
	ARRAY(char *) sent; /* ids that may be at the server */
	bool more;	    /* there are others behind it */
};

/* The oldest files that wait; a file that is no run is set aside, by another name. */
int spool_take(struct spool *spool, struct spool_batch *batch);
void spool_batch_fini(struct spool_batch *batch);
bool spool_was_sent(const struct spool_batch *batch, const char *id);

/* Note that the runs of a batch will be sent now; or that they are there, and forget them. */
int spool_sending(struct spool *spool, const struct spool_batch *batch);
int spool_done(struct spool *spool, const struct spool_batch *batch);

/* Seconds until the next try; 0: now. Note how the last one ended. */
uint64_t spool_pause(const struct spool *spool);
void spool_tried(struct spool *spool, bool good);
