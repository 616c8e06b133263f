/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that launched something, by CUPTI's correlation id, from the call until its records have
 * come. The launching thread writes an entry, whoever handles records reads it: it is complete
 * before its state says so. Any thread, except where it says "consumer".
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "brick/attach.h"
#include "brick/queue.h"

/* The records that come of a call's launches: how many (0: not known), and whether they must. */
struct launch_records {
	uint32_t count;
	uint32_t certain;		       /* one that does not come was lost */
	uint32_t numbers;		       /* that the launch has, in a row */
	const struct brick_launch_owner *work; /* that its first tells of; NULL: of none */
};

/* A call has begun. */
void launches_begin(uint32_t correlation, const struct brick_launch *launch,
	const struct launch_records *records);

/* Ends a call; records will come. */
void launches_end(uint32_t correlation, const struct brick_launch *launch);

/*
 * A call inside of another launched for it: CUPTI gives the records either id. A record for one is
 * a record for the other.
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

/* Its records are passed over: somebody else tells of them, or nothing was recorded at the call. */
enum launches_why { LAUNCHES_DISOWNED, LAUNCHES_IGNORED };
void launches_pass_over(uint32_t correlation, enum launches_why why);
int launches_are_passed_over(uint32_t correlation, enum launches_why why);

/* Consumer: one of its records has come. */
void launches_seen(uint32_t correlation);

/*
 * Consumer: the launch for one more command, and the owner whose work it tells; further commands of
 * the same call get the next numbers, then any, and tell no work. 0 when the call is not known.
 */
int launches_take(
	uint32_t correlation, struct brick_launch *launch, const struct brick_launch_owner **work);

/*
 * Consumer: nothing that is still to come was launched before this tick; UINT64_MAX when nothing
 * is. Calls that ended before give_up are no longer waited for.
 */
uint64_t launches_pending_since(uint64_t give_up);

/*
 * Consumer, once a round, behind a flush: the give_up for launches_pending_since(). Launches that
 * ended `patience` ago are given up, but not before so many flushes went by without their record: a
 * process that stood still has asked for nothing meanwhile.
 */
enum { PATIENT_ROUNDS = 10 };
uint64_t launches_patience_ends(uint64_t now, uint64_t patience);

/* Consumer: records that were certain to come and never came. */
uint64_t launches_unanswered(void);
