/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that one process sends to another one, which computes them (ggml's RPC). Both ends tell of
 * each graph by a message without a peer, whose communicator stands for the graph. A client
 * may send several before the first one is computed, and they are computed in that order. What was
 * lost, or is somebody else's, is found by how many are open, and pairs nothing; nor do those
 * beside it that could be its other end. A call lasts until the client's thread comes back from a
 * wait that the server's result could end; what is left of that beside the server's computing is
 * the way there and back. Pure; any thread.
 */
#pragma once

#include "analysis/ranks/rank_table.h"
#include "trace/run.h"

/* A recording of some of the ends; its clock says which time of all of them is whose. */
struct remote_source {
	const struct run *run;
	struct rank_clock clock;
};

struct remote_call {
	uint32_t from, to;	   /* recordings of both ends */
	uint32_t sent, received;   /* in their messages */
	uint64_t begin_ns, end_ns; /* on the client; end 0: its result was not waited for */
	uint64_t compute_ns;	   /* on the server */
	uint64_t waited_ns;	   /* part of begin to end in which the client's thread waited */
	uint64_t wire_ns;	   /* part of it in which the server did not compute */
};

struct remote_calls {
	struct remote_call *list; /* by the time at which they were sent */
	size_t count;
	uint64_t sent_alone, received_alone;		   /* the other end was not recorded */
	uint64_t whole_ns, compute_ns, waited_ns, wire_ns; /* sums over calls that have an end */
};

/* 0 or -ENOMEM; *calls is then empty. Recordings whose clock is not aligned have ends alone. */
int remote_calls_init_of(
	struct remote_calls *calls, const struct remote_source *sources, uint32_t count);
int remote_calls_init(struct remote_calls *calls, const struct run *run);
void remote_calls_fini(struct remote_calls *calls);

/* Is a message an end of such a call? */
static inline bool run_message_is_remote(const struct run_message *m)
{
	return m->event != BRICK_MESSAGE_COLLECTIVE && m->peer < 0 && m->number;
}
