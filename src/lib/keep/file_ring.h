/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a recording without an end: PATH is the newest, PATH with a number before its ending
 * an earlier one (run.1.pftrace is the one before run.pftrace). All together they take a bounded
 * number of bytes; the oldest go first. Files that an earlier recorder left belong to the ring.
 * Another program's file may have such a name, too: only a file that says itself of which ring it
 * is a part (FORMAT_RING) is moved, removed or counted. One thread at a time.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "format/format.h"

enum {
	FILE_RING_EARLIER = 16, /* the most files beside PATH */
	FILE_RING_PARTS = 8,	/* a file is complete at this part of the bytes, or of the time */
};

struct file_ring {
	const char *path; /* outlives the ring */
	/* what its files say: half of it is made of the file name of PATH, half of time and pid */
	char id[FORMAT_RING_DIGITS + 1];
	uint64_t bytes;	   /* the most of all files together */
	uint64_t keep_ns;  /* files that ended longer ago go, too; 0: none does */
	uint64_t began_ns; /* when the present file began; any clock that never steps */
	uint64_t ended_ns[FILE_RING_EARLIER]; /* of PATH.i at i - 1; 0: an earlier recorder's */
};

/* The name of an earlier file, 1 the latest; 0: PATH itself. False: it is too long. */
bool file_ring_name(const struct file_ring *r, unsigned number, char name[PATH_MAX]);

/* Reads of which ring a file is a part. False: of none. */
bool file_ring_read(const char *path, char id[FORMAT_RING_DIGITS + 1]);

/*
 * Sets r->id, of the files that are there, and makes room for a new PATH. What is there now,
 * finished or not, becomes the first of the earlier files. -EBUSY: another recorder writes PATH.
 * -EEXIST: a name of the ring has something else than a part of it; `wrong` is that name.
 * -ENAMETOOLONG, -errno.
 */
int file_ring_start(struct file_ring *r, uint64_t now_ns, char *wrong, size_t wrong_bytes);

/* Sets r->id, and changes nothing: 0, or why file_ring_start() would fail; not -EBUSY. */
int file_ring_look(struct file_ring *r, char *wrong, size_t wrong_bytes);

/*
 * False: file_ring_start() would fail, or no file can be made, also when nobody writes PATH any
 * more. *writer: who writes it now; 0: nobody that we see. Nothing changes but r->id.
 */
bool file_ring_can_start(struct file_ring *r, pid_t *writer);

/*
 * A PATH.part that was given up becomes PATH. 1: there is a PATH, which file_ring_turn() makes an
 * earlier file; 0: there is none. As file_ring_start().
 */
int file_ring_recover(struct file_ring *r);

/* True if the present file of that size should end; `late`: only if it is far beyond that. */
bool file_ring_is_due(const struct file_ring *r, uint64_t bytes, uint64_t now_ns, bool late);

/* Removes earlier files until they, and a present one of that size, are within the limits. */
void file_ring_trim(const struct file_ring *r, uint64_t bytes, uint64_t now_ns);

/*
 * PATH is complete: it becomes the first of the earlier files. Names that somebody else has taken
 * meanwhile are passed over. 0; -EEXIST: all are taken; -errno.
 */
int file_ring_turn(struct file_ring *r, uint64_t now_ns);
