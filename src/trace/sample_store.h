/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a run in the making: a list for each lane. When the lists of a run need more
 * memory than their budget, the older samples of a list go to a file without a name, which nobody
 * else sees and which ends with the process; a finished run maps the file, so that the kernel can
 * take that memory back. Where no such file can be had, or its disk is full, samples stay in
 * memory. One thread at a time.
 */
#pragma once

#include "trace/run.h"

enum {
	SAMPLE_EXTENTS = 19,	       /* of 2^15 samples and more: enough for RUN_NONE samples */
	SAMPLE_STORE_BYTES = 64 << 20, /* the budget unless a caller sets one */
};

/* Shared by the lists of one run. */
struct sample_store {
	size_t budget;	 /* bytes that lists should have in memory at most */
	size_t resident; /* bytes that they have in memory now */
	int file;	 /* descriptor; -1: none yet */
	int spills;	 /* 1: some samples are in the file */
	int refused;	 /* 1: there is no file, or no room in it: spilling is not tried again */
	uint64_t file_bytes; /* given to extents so far */
};

struct sample_list {
	struct run_sample *tail; /* samples from `first` on; those before it are in the file */
	size_t first;
	size_t count;	 /* of all samples, in the file and in `tail` */
	size_t capacity; /* of `tail` */
	/* A copy of one sample in the file that is being changed; not written back yet. */
	size_t late_index; /* RUN_NONE: there is none */
	struct run_sample late;
	/*
	 * Offsets in the file; 0: not had yet. Extent 0 has 2^15 samples, each other one as many as
	 * all extents before it.
	 */
	uint64_t extents[SAMPLE_EXTENTS];
};

void sample_store_init(struct sample_store *store, size_t budget);
/* Closes the file; lanes that were finished keep their samples. */
void sample_store_fini(struct sample_store *store);

void sample_list_init(struct sample_list *list);
void sample_list_fini(struct sample_store *store, struct sample_list *list);

/* Makes room for one more sample at tail[count - first]; may spill. 0 or -ENOMEM. */
int sample_list_grow(struct sample_store *store, struct sample_list *list);

/*
 * The sample `index`, which is in the file, to be read or changed until the next call. If it cannot
 * be read or the one before cannot be written back, *error is set and what is returned is of no
 * use.
 */
struct run_sample *sample_list_late(
	struct sample_store *store, struct sample_list *list, size_t index, int *error);

/*
 * Moves the samples to the lane. 0, -ENOMEM or the file's error; sample_list_fini() in both cases.
 */
int sample_list_finish(struct sample_store *store, struct sample_list *list, struct run_lane *lane);
