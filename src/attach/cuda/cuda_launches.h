/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of calls that launched something, by CUPTI's correlation id, from the call until its
 * records have come. The launching thread writes an entry, and publishes it by its state; the
 * consumer of records (cuda_records.h) reads it. Any thread, unless a comment says "consumer".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "attach/cuda/cuda_replays.h"
#include "brick/attach.h"
#include "brick/queue.h"

/* The records that a call's launches will bring. */
struct launch_records {
	uint32_t count;	    /* 0: not known */
	uint32_t certain;   /* 1: a record that does not come was lost */
	uint32_t numbers;   /* command numbers in a row that the call has reserved */
	replay_shape shape; /* of the graph that it replays */
	const struct brick_launch_owner *work; /* of the first command; NULL: none */
};

/* A call has begun. */
void launches_begin(uint32_t correlation, const struct brick_launch *launch,
	const struct launch_records *records);

/* A call has ended, and its records will come. */
void launches_end(uint32_t correlation, const struct brick_launch *launch);

/*
 * A call inside of another call launched for it. CUPTI gives the records one of the two ids, so a
 * record with either id counts for both.
 */
void launches_join(uint32_t outer, uint32_t inner);

/*
 * The call launched into that stream. When the call's first record comes, all records of earlier
 * launches into the stream have come: so an earlier call with an unknown number of records is then
 * over.
 */
void launches_in_stream(uint32_t correlation, cuda_handle stream);

/* Forgets a call that launched nothing: it failed, or was captured into a graph. */
void launches_forget(uint32_t correlation);

/* Why a call's records are ignored: another library records them, no session was on, or the call is
 * Brick's own. */
enum launches_why { LAUNCHES_DISOWNED, LAUNCHES_IGNORED, LAUNCHES_OWN };
void launches_pass_over(uint32_t correlation, enum launches_why why);
int launches_are_passed_over(uint32_t correlation, enum launches_why why);

/* Consumer: a record of the call has come; or one for all of its commands. */
void launches_seen(uint32_t correlation);
void launches_seen_whole(uint32_t correlation);

/* Consumer: the graph that a call replays, and how many records its nodes bring; 0: not known. */
struct exec_launch launches_exec(uint32_t correlation);

/*
 * Consumer: get the launch of one more command of a call, and the owner whose work it records. The
 * first command has the work; further commands get the next of the call's numbers, and have none.
 * 0: the call is not known.
 */
int launches_take(
	uint32_t correlation, struct brick_launch *launch, const struct brick_launch_owner **work);

/*
 * Consumer: a tick before which no call was launched whose records are still missing; UINT64_MAX:
 * no records are missing. Calls that ended before give_up are not waited for.
 */
uint64_t launches_pending_since(uint64_t give_up);

/* Consumer: a call is being made, or its records are missing and will come. */
bool launches_are_awaited(void);

/*
 * Consumer, once a round, after a flush: the give_up for launches_pending_since(). Calls that ended
 * more than `patience` ticks ago are given up, but only after PATIENT_ROUNDS flushes without their
 * records: a process that was stopped has flushed nothing meanwhile.
 */
enum { PATIENT_ROUNDS = 10 };
uint64_t launches_patience_ends(uint64_t now, uint64_t patience);

/* Consumer: calls of a recording that has ended are over, wherever their threads are now. */
void launches_restart(void);

/* Consumer: records that were certain to come and never came. */
uint64_t launches_unanswered(void);
