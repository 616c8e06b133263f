/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that wait to be sent to a server. The spool is a directory with one file for each run, named
 * by the run's id, so that no run is there twice. Any number of processes may add runs; a process
 * that sends holds the lock:
 *
 *   spool_lock(), then for each batch spool_take(), spool_note_sending(), spool_forget(); at the
 *   end spool_note_try()
 *
 * Ids are noted before their runs are sent, because a sender may die after the server took runs and
 * before it has forgotten them. After a failure all processes pause; each further failure doubles
 * the pause. Functions return 0 or a negative errno. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/history/history_run.h"

#define SPOOL_BYTES_MAX (1ull << 30) /* unless BRICK_SPOOL_BYTES says less */

enum {
	SPOOL_RUNS_MAX = 100000, /* unless BRICK_SPOOL_RUNS says less */
	SPOOL_BATCH = 500,	 /* most runs of a batch */
	SPOOL_PAUSE_MIN_S = 1,	 /* after the first failure */
	SPOOL_PAUSE_MAX_S = 600, /* however many failures there were */
};

struct spool {
	char *directory;
	int lock; /* descriptor of the locked file; -1: not held */
	uint64_t most_runs, most_bytes;
	uint64_t runs, bytes; /* estimate of what is there, if it was measured */
	bool is_measured;     /* false: the next spool_add() measures */
};

/*
 * Opens the spool of a server, in the user's data directory, and makes the directory. After an
 * error spool_close() frees what it took. -ENOENT: there is no data directory.
 */
int spool_open(struct spool *spool, const char *server);
void spool_close(struct spool *spool);

/*
 * Writes a run to the disk; a run of the same id is replaced. Files that a killed writer left are
 * removed a day later. -ENOBUFS: most_runs runs wait, or
 * they take most_bytes. -ENOSPC: the disk is full. -ENOMEM, -errno.
 */
int spool_add(struct spool *spool, const struct history_run *run);

/*
 * Takes the lock without waiting; spool_close() gives it back, too. -EAGAIN: another process is
 * sending. -ENOMEM, -errno.
 */
int spool_lock(struct spool *spool);
void spool_unlock(struct spool *spool);

struct spool_batch {
	ARRAY(struct history_run) runs; /* to be sent */
	ARRAY(char *) sent; /* ids whose sending was noted, of any batch, and not forgotten */
	bool more;	    /* other files wait */
};

/*
 * Reads up to SPOOL_BATCH runs in the order of their ids, which is not that of time. Files stay
 * until spool_forget(). A file that holds no run is renamed to *.bad, which counts as nothing, and
 * is removed a week after it was written; a file that cannot be read is passed over. The caller
 * calls spool_batch_fini() after success. -ENOMEM; -EIO: a bad file could not be renamed.
 */
int spool_take(struct spool *spool, struct spool_batch *batch);
void spool_batch_fini(struct spool_batch *batch);

/* True if a former try may have brought this run to the server. */
bool spool_was_sent(const struct spool_batch *batch, const char *id);

/* Notes on the disk that the runs of a batch will be sent now. Under the lock. */
int spool_note_sending(struct spool *spool, const struct spool_batch *batch);

/* Deletes the runs of a batch, and the notes of their ids: they are stored. Under the lock. */
int spool_forget(struct spool *spool, const struct spool_batch *batch);

/* Seconds until the next try; 0: now. */
uint64_t spool_pause(const struct spool *spool);

/* Ends the pause after a good try; starts or doubles it after a bad try. Under the lock. */
void spool_note_try(struct spool *spool, bool good);
