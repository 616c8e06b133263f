/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that owned a lane, by time. When a lane's owner has ended, another thread may own the
 * lane. Borrows the run's names. Read-only once made: any thread.
 */
#pragma once

#include "trace/run.h"

/* A thread that owns a lane from `ns` (0: from the begin) to the next owner's. */
struct owner {
	uint64_t ns, tid;
	const char *name; /* the run's; NULL: not known */
};

struct owners {
	struct owner *all; /* by lane, then by time */
	size_t *lanes;	   /* [lane_count + 1]: where a lane's owners begin in `all` */
};

/* 0 or -ENOMEM; owners_fini() in both cases. */
int owners_init(struct owners *o, const struct run *run);
void owners_fini(struct owners *o);

/* The lane's owner at `ns`: an index in o->all. */
size_t owners_place(const struct owners *o, uint32_t lane, uint64_t ns);

/* The tid of the lane's owner at `ns`. */
static inline uint64_t owners_at(const struct owners *o, uint32_t lane, uint64_t ns)
{
	return o->all[owners_place(o, lane, ns)].tid;
}

/* The index in o->all of the lane's first owner that recorded a sample before its handover. */
size_t owners_first(const struct owners *o, const struct run *run, uint32_t lane);

/* Counts the threads that recorded anything; several may have owned one lane. */
size_t run_thread_count(const struct run *run);
