/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a run in the making: a list for each lane, of which the newest stand in memory.
 * When the lists of a run need more than their share of memory, older samples go to a file without
 * a name, which nobody else sees and which ends with the process; a finished run has them mapped,
 * so that the memory that they need is the kernel's to take back. Where no such file can be had, or
 * its disk is full, samples stay in memory. One thread at a time.
 */
#pragma once

#include "trace/run.h"

enum { SAMPLE_EXTENTS = 19, SAMPLE_STORE_BYTES = 64 << 20 };

/* Shared by the lists of one run. */
struct sample_store {
	size_t budget, resident; /* bytes: of lists in memory at most, and now */
	int file;		 /* -1: none yet */
	int spills;		 /* some samples are in the file */
	int refused;		 /* no file can be had, or no more of it */
	uint64_t file_bytes;
};

struct sample_list {
	struct run_sample *tail; /* those from `first` on */
	size_t first, count, capacity;
	/* One before `first` that is being changed. */
	size_t late_index; /* RUN_NONE: none is */
	struct run_sample late;
	/*
	 * Offsets in the file. Extent 0 has 2^15 samples, each other one as many as all before it.
	 */
	uint64_t extents[SAMPLE_EXTENTS];
};

void sample_store_init(struct sample_store *store, size_t budget);
void sample_store_fini(struct sample_store *store); /* finished samples stay */

void sample_list_init(struct sample_list *list);
void sample_list_fini(struct sample_store *store, struct sample_list *list);

/* Have capacity for one more at tail[count - first]. 0, -ENOMEM, or the file's error. */
int sample_list_grow(struct sample_store *store, struct sample_list *list);

/* One in the file, good until the next call. *error is set if it could not be had. */
struct run_sample *sample_list_late(
	struct sample_store *store, struct sample_list *list, size_t index, int *error);

/* The samples become the lane's. 0 or an error; the list is to be fini'ed in either case. */
int sample_list_finish(struct sample_store *store, struct sample_list *list, struct run_lane *lane);
