/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface for code that is injected into other people's programs: it starts the recorder's
 * session early, and says what the hooks themselves cost. Any thread, each for itself.
 */
#ifndef BRICK_ATTACH_H
#define BRICK_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include "brick/export.h"
#include "brick/probe.h"

BRICK_BEGIN_DECLS

/*
 * Make sure that the session runs and that this thread has its lane, so that neither happens inside
 * of something that is being timed. 0, or -ENOENT when recording is off or there is no room.
 */
BRICK_API int brick_thread_ready(void);

struct brick_sequence_record;

/*
 * Write records about sequences (brick/abi/lane.h); their `begin` and `kind` are filled in. 0, or
 * -ENOENT: nothing records.
 */
BRICK_API int brick_record_sequences(const struct brick_sequence_record *records, uint32_t count);

struct brick_expert_record;

/*
 * Write records about the experts of an operation whose sample comes next; `kind` is filled in.
 * True: there was room for all of them; else none was written.
 */
BRICK_API bool brick_record_experts(const struct brick_expert_record *records, uint32_t count);

/* As brick_begin_layer(), for work that no probe of the program takes: enum brick_source. */
BRICK_API brick_span brick_begin_from(uint32_t brick, int layer, uint32_t source);

/*
 * Counts `calls` hook calls, of which one was timed whole and took `ticks`. Kept on the thread's
 * lane; does nothing where there is none.
 */
BRICK_API void brick_hook_cost(uint64_t calls, uint64_t ticks);

/*
 * End an execution of a site whose work differs from execution to execution: so many bytes and
 * FLOPs, in place of the site's. Both 0: as brick_end_site().
 */
BRICK_API void brick_end_site_work(brick_span span, uint32_t site, uint64_t bytes, uint64_t flops);

struct brick_sample;

/*
 * Record a sample of a site that did less than the site says (BRICK_SITE_AT_MOST): so many bytes
 * and FLOPs. Both 0: what it did is not known to be less.
 */
BRICK_API void brick_record_sample_work(
	const struct brick_sample *sample, uint64_t bytes, uint64_t flops);

/* One execution of a site, timed elsewhere; ticks. Longer ones need brick_record_sample(). */
struct brick_timing {
	uint64_t begin;
	uint32_t ticks; /* length */
	uint32_t wait;	/* waiting right after it */
	uint32_t inner; /* waiting inside of it; at most `ticks` */
	uint32_t site;
	uint64_t mark; /* the caller's own; not looked at */
};

/*
 * Record them all, as brick_record_sample() would one by one (source BRICK_SOURCE_TSC), in a
 * fraction of the time. They must be in begin order.
 */
BRICK_API void brick_record_timings(const struct brick_timing *timings, uint32_t count);

/* The work of timings[timing], as brick_record_sample_work() takes it. */
struct brick_timing_work {
	uint32_t timing;
	uint32_t reserved; /* 0 */
	uint64_t bytes, flops;
};

/*
 * As brick_record_timings(), where some did other work than their sites say; `works` are in their
 * order.
 */
BRICK_API void brick_record_timings_work(const struct brick_timing *timings, uint32_t count,
	const struct brick_timing_work *works, uint32_t work_count);

/*
 * Whose work a device is given, where no brick can be open around it: the host's own time there is
 * not the brick's. It must stay where it is as long as the process lives, as commands are recorded
 * when the device has done them; what it points to may change until then.
 */
struct brick_launch_owner {
	uint32_t brick;
	int32_t layer;
	const char *operation; /* names commands without a name */
	uint64_t bytes, flops; /* of all commands of one turn together; both 0: not known */
};

/*
 * From now on this thread's launches belong to this owner where no brick that computes is open;
 * NULL: to nobody. Returns the previous owner.
 */
BRICK_API const struct brick_launch_owner *brick_launch_owner_set(
	const struct brick_launch_owner *owner);

/*
 * Returns the owner at the first launch since it was set: its command tells the work of the whole
 * turn. NULL at later launches, and without an owner.
 */
BRICK_API const struct brick_launch_owner *brick_launch_work(void);

/* Whose work a launch on this thread would be: NULL where a brick that computes is open. */
BRICK_API const struct brick_launch_owner *brick_launch_owner(void);

BRICK_END_DECLS

#endif
