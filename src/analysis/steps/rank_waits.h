/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of one job in one recording, and which of them the others waited for. The n-th collective
 * of a rank is the n-th of the others, and the last rank to come to it makes the others wait. One
 * machine has one clock. Pure; any thread.
 */
#pragma once

#include "trace/run.h"

struct rank_waits_row {
	uint32_t process;	     /* of the run */
	uint64_t collectives, bytes; /* which it began, and the bytes that it gave to them */
	uint64_t exposed_ns;	     /* waiting for collectives on the thread that began them */
	uint64_t last;		     /* collectives to which it came last */
	uint64_t waited_ns;	     /* part of exposed_ns: for a rank that had not come */
	uint64_t caused_ns;	     /* waited_ns of other ranks because of it, added up */
	uint32_t brick; /* took it longer than the others before it came last; RUN_NONE: time in no
			   brick */
	bool was_preempted; /* in place of a brick: it did not run */
	uint64_t longer_ns; /* ... by so much in all; 0: nothing did */
};

/* Rows are in the order of ranks; none where less than two ranks have the same collectives. */
struct rank_waits {
	struct rank_waits_row *rows;
	uint32_t count;
	uint64_t collectives; /* to which all came */
};

/* -ENOMEM; *waits is then empty. */
int rank_waits_of_run(struct rank_waits *waits, const struct run *run);
void rank_waits_fini(struct rank_waits *waits);
