/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lane a thread owned, and from when to when: so that times off its CPU go to that lane, and
 * those of threads without a lane to none. Emitting side.
 */
#pragma once

#include <stddef.h>
#include "base/array.h"
#include "base/hashmap.h"
#include "brick/abi/session.h"
#include "lib/writer/sink.h"

struct drain_off_cpu {
	struct hashmap lane_of;		    /* tid -> index of the session's lane */
	struct hashmap since_of, until_of;  /* tid -> ns of CLOCK_MONOTONIC */
	struct hashmap owner_of;	    /* index of the session's lane -> tid */
	struct hashmap forgotten;	    /* tid -> intervals that did not fit into `waiting` */
	ARRAY(struct sink_off_cpu) waiting; /* of threads without a lane so far */
	uint64_t lost;			    /* of threads that got one: were forgotten */
};

/* Records that were emitted may say who owns their lane. 0 or -ENOMEM. */
int drain_off_cpu_learn(struct drain_off_cpu *o, const struct brick_clock *clock, uint32_t lane,
	const struct brick_record *records, size_t count);

/* Keep intervals until drain_off_cpu_emit(). 0 or -ENOMEM. */
int drain_off_cpu_add(struct drain_off_cpu *o, const struct sink_off_cpu *intervals, size_t count);

/* Emit those whose threads own a lane. numbers: in the sink, by the session's lane. */
int drain_off_cpu_emit(struct drain_off_cpu *o, struct sink *sink,
	int (*number)(void *context, uint32_t lane), void *context);

void drain_off_cpu_fini(struct drain_off_cpu *o);
