/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that owned a lane, by time. A lane goes on with another thread when its owner has
 * ended. Any thread, an object one at a time.
 */
#pragma once

#include "trace/run.h"

/* A thread that has the lane from then on. */
struct owner {
	uint64_t ns, tid;
	const char *name; /* the run's; NULL: not known */
};

struct owners {
	struct owner *all; /* lane by lane */
	size_t *lanes;	   /* where those of each begin; and their end */
};

/* 0 or -ENOMEM; either way there is something to fini. */
int owners_init(struct owners *o, const struct run *run);
void owners_fini(struct owners *o);

/* The owner at that time: a place in o->all. */
size_t owners_place(const struct owners *o, uint32_t lane, uint64_t ns);

static inline uint64_t owners_at(const struct owners *o, uint32_t lane, uint64_t ns)
{
	return o->all[owners_place(o, lane, ns)].tid;
}

/* The first owner's place; an owner without samples before the first handover is left out. */
size_t owners_first(const struct owners *o, const struct run *run, uint32_t lane);

/* Threads that recorded anything, also one after the other on one lane. */
size_t run_thread_count(const struct run *run);
