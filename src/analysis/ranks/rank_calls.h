/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectives that one rank took part in, as its recording has them: when it came to each, and
 * when it was let go. Pure; any thread.
 */
#pragma once

#include "analysis/devices/gpu_spans.h"
#include "base/array.h"
#include "trace/run.h"

struct rank_call {
	uint64_t begin_ns; /* it came */
	uint64_t end_ns;   /* it was let go; 0: not known */
	uint64_t kind;	   /* a hash of the operation: the same for all ranks */
	/* both 0: not known; then it is the rank's next one of all ranks */
	uint32_t communicator, number;
	uint32_t meeting; /* in the job, once calls of ranks are matched; RUN_NONE: no such */
	uint32_t step;	  /* number of the last one that had begun; 0: none */
	float work_ns;	  /* since the call before, once the rank's time is cut */
	float busy_ns;	  /* ... without time that its thread was preempted */
	int32_t root; /* the rank that gives the others something; negative: all, or not known */
	bool joins;   /* nobody is let go before all have come */
};

/* Time in which nothing but waiting for collectives was done. */
struct rank_hold {
	uint64_t begin_ns, end_ns;
};

/* Of the GPU that ran most of them, if any did, or of the thread that began most. */
struct rank_calls {
	uint32_t process;
	uint32_t lane; /* the thread's, or, without calls, of most messages; RUN_NONE: of a GPU */
	uint32_t gpu;  /* index in gpu_spans.list; RUN_NONE: of a thread */
	struct rank_call *list;
	size_t count;
	ARRAY(struct rank_hold) holds;
	uint64_t bytes; /* that the rank gave to them */
};

/* What the samples of a site are to collectives. */
enum rank_site {
	RANK_SITE_OTHER,
	RANK_SITE_BEGINS, /* a collective, for which others wait later */
	RANK_SITE_BLOCKS, /* a collective, and the waiting for it */
	RANK_SITE_WAITS,  /* for one collective */
	RANK_SITE_WAITS_FOR_ALL,
};

/* Of each site, to be freed. NULL: no memory. */
uint8_t *rank_sites(const struct run *run);

/* sites: rank_sites(). 0 or -ENOMEM. */
int rank_calls_find(struct rank_calls *calls, const struct run *run, const uint8_t *sites,
	const struct gpu_spans *gpus, uint32_t process);
void rank_calls_fini(struct rank_calls *calls);
