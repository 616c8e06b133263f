/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface for code that is injected into other people's programs: starting the recorder's
 * session early, recording what hooks see, and saying what the hooks themselves cost. Any thread,
 * each for itself. Times are ticks of brick_ticks().
 */
#ifndef BRICK_ATTACH_H
#define BRICK_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include "brick/export.h"
#include "brick/probe.h"

BRICK_BEGIN_DECLS

/*
 * Makes sure that the session runs and that this thread has its lane, so that neither happens while
 * something is being timed. 0, or -ENOENT: recording is off, or there is no room for a lane.
 */
BRICK_API int brick_thread_ready(void);

/*
 * Follows the recorder if `brick on` or `brick off` has switched recording: a load and a branch. A
 * step begins with it (brick_step_begin()); an attacher that begins none while recording is off
 * calls it where a step would begin, outside of all bricks.
 */
BRICK_API void brick_recorder_heed(void);

/*
 * How many steps in a row the recorder wants with their bricks (upper 16 bits), and how many after
 * them as one piece each (lower 16 bits), on average, so that recording costs no more than its user
 * allows. 0: it has not measured yet, or there is no recorder. Any thread; costs one load.
 */
BRICK_API uint32_t brick_recorder_step_blocks(void);

struct brick_sequence_record;

/*
 * Writes `count` records about sequences (brick/abi/lane.h) at the present time; `begin` and `kind`
 * of *records are not looked at. 0, also where the ring had no room (counted as dropped) or the
 * session has no rings; -ENOENT: nothing records.
 */
BRICK_API int brick_record_sequences(const struct brick_sequence_record *records, uint32_t count);

struct brick_expert_record;

/*
 * Writes `count` records about the experts of the operation whose sample comes next;
 * `begin` and `kind` of *records are not looked at. True: all were written. False: none was, since
 * nothing records or the ring had no room (counted as dropped).
 */
BRICK_API bool brick_record_experts(const struct brick_expert_record *records, uint32_t count);

struct brick_memory_record;

/*
 * Writes `count` records about memory (brick/abi/lane.h) at the present time; `begin` and `kind` of
 * *records are not looked at. True: all were written. False: none was, as above.
 */
BRICK_API bool brick_record_memory(const struct brick_memory_record *records, uint32_t count);

struct brick_message_record;

/*
 * Writes `count` records about messages (brick/abi/lane.h) right behind the brick of the call,
 * which has just ended; `begin` and `kind` of *records are not looked at. True: all were written.
 * False: none was, as above.
 */
BRICK_API bool brick_record_messages(const struct brick_message_record *records, uint32_t count);

/* As brick_begin_layer(), for times that are not two readings around the work: enum brick_source.
 */
BRICK_API brick_span brick_begin_from(uint32_t brick, int layer, uint32_t source);

/*
 * Counts `calls` hook calls, of which one was timed whole and took `ticks`, on the thread's lane.
 * Does nothing if the thread has no lane.
 */
BRICK_API void brick_hook_cost(uint64_t calls, uint64_t ticks);

/*
 * Ends an execution of a site whose work differs from execution to execution: `bytes` and `flops`
 * count in place of the site's. Both 0: as brick_end_site().
 */
BRICK_API void brick_end_site_work(brick_span span, uint32_t site, uint64_t bytes, uint64_t flops);

struct brick_sample;

/*
 * Records a sample of a site that did less than the site says (BRICK_SITE_AT_MOST): `bytes` and
 * `flops` count in place of the site's. Both 0: as brick_record_sample().
 */
BRICK_API void brick_record_sample_work(
	const struct brick_sample *sample, uint64_t bytes, uint64_t flops);

/* One execution of a site, timed elsewhere; ticks. Longer ones need brick_record_sample(). */
struct brick_timing {
	uint64_t begin;
	uint32_t ticks; /* length */
	uint32_t wait;	/* waiting right after the end */
	uint32_t inner; /* waiting between begin and end; at most `ticks` */
	uint32_t site;	/* its index */
	uint64_t mark;	/* the caller's own; not looked at */
};

/*
 * Records `count` timings, in a fraction of the time that as many calls of brick_record_sample()
 * take (source BRICK_SOURCE_TSC). They must be in begin order.
 */
BRICK_API void brick_record_timings(const struct brick_timing *timings, uint32_t count);

/* The work of one timing, as brick_record_sample_work() takes it. */
struct brick_timing_work {
	uint32_t timing;   /* index in the array of timings */
	uint32_t reserved; /* 0 */
	uint64_t bytes, flops;
};

/*
 * As brick_record_timings(), where some timings did other work than their sites say. `works` holds
 * the work of these, in rising order of `timing`.
 */
BRICK_API void brick_record_timings_work(const struct brick_timing *timings, uint32_t count,
	const struct brick_timing_work *works, uint32_t work_count);

/*
 * The brick that a device's commands belong to, for launches around which no brick can be open
 * because the host's time there is not the brick's. An owner must stay at its address as long as
 * the process lives: commands are recorded when the device has done them. Its texts may change.
 */
struct brick_launch_owner {
	uint32_t brick;
	int32_t layer;
	const char *operation; /* names commands that have no name of their own */
	uint64_t bytes, flops; /* of all commands of one turn together; both 0: not known */
};

/*
 * Begins a turn: from now on this thread's launches belong to `owner`, wherever no brick that
 * computes is open; NULL: to nobody. Returns the previous owner.
 */
BRICK_API const struct brick_launch_owner *brick_launch_owner_set(
	const struct brick_launch_owner *owner);

/*
 * Returns the owner at the first launch of its turn: the command of this launch gets the work of
 * the whole turn. NULL at later launches, and where there is no owner.
 */
BRICK_API const struct brick_launch_owner *brick_launch_work(void);

/* Returns the owner of a launch on this thread now; NULL: none, or a brick that computes is open.
 */
BRICK_API const struct brick_launch_owner *brick_launch_owner(void);

BRICK_END_DECLS

#endif
