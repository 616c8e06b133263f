/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the kernel and of the CPU, through perf_event: exact counts or none at all. A counter
 * that the system forbids or the CPU lacks is unavailable, with the reason; a count that shared its
 * counter with others is flagged, never scaled up. Reading one's own hardware counters takes no
 * system call where the kernel lets user space read them (rdpmc); else each read is one.
 *
 * Three ways to use them: around any piece of work, on its thread (brick_counters_*); per brick,
 * into its statistics (brick_counted_*); or per step, of all threads that record, into the
 * recording (brick_counters_set, `brick record --counters`).
 */
#ifndef BRICK_COUNTERS_H
#define BRICK_COUNTERS_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"
#include "brick/probe.h"

BRICK_BEGIN_DECLS

/* Kinds of counters. */
enum brick_counter_kind {
	BRICK_COUNTER_CYCLES = 0, /* of the core while it ran this thread, in user space */
	BRICK_COUNTER_INSTRUCTIONS = 1,
	BRICK_COUNTER_CACHE_MISSES = 2, /* of the last level, as the kernel maps them to this CPU */
	BRICK_COUNTER_TASK_CLOCK = 3,	/* ns that the thread ran */
	BRICK_COUNTER_PAGE_FAULTS = 4,
	BRICK_COUNTER_CONTEXT_SWITCHES = 5,
	BRICK_COUNTER_KINDS = 6,
};

enum {
	BRICK_COUNTERS_HARDWARE = 7,  /* bits 1 << kind: cycles, instructions, cache misses */
	BRICK_COUNTERS_SOFTWARE = 56, /* the other kinds */
	BRICK_COUNTERS_ALL = 63,
};

/* Name of a kind: "cycles", "page-faults", ...; static text. NULL: there is no such kind. */
BRICK_API const char *brick_counters_name(uint32_t kind);

/*
 * Bits of a list "cycles,page-faults", "all", "software" or "hardware"; -EINVAL: something else is
 * in it.
 */
BRICK_API int brick_counters_parse(const char *list);

/*
 * Returns 0 if this thread may count `kind` now, else -errno, with the reason as a sentence of at
 * most `bytes` bytes.
 */
BRICK_API int brick_counters_available(uint32_t kind, char *reason, size_t bytes);

/* Counters of the thread that opened them, which alone may read and close them. */
struct brick_counters;

/* The counts of a set since it was opened. */
struct brick_counter_values {
	size_t size;	/* sizeof(struct brick_counter_values) */
	uint32_t valid; /* bits (1 << kind) of the kinds whose value is exact */
	/* bits of the kinds that did not count all the time: their value is a lower bound */
	uint32_t shared;
	uint32_t direct;   /* bits of those that were read without a system call */
	uint32_t reserved; /* 0 */
	uint64_t value[BRICK_COUNTER_KINDS]; /* by kind; 0 with both bits clear: not counted */
};

#define BRICK_COUNTER_VALUES_INIT BRICK_SIZED(struct brick_counter_values)

/*
 * Opens the counters of `wanted` (bits) that can be had; they count from now on. Returns their
 * bits, at least one. If none could be opened: -errno of the last one. -ENOMEM. -EINVAL: `wanted`
 * is 0 or has unknown bits.
 */
BRICK_API int brick_counters_open(struct brick_counters **out, uint32_t wanted);

/* Reads the counts since the counters were opened. 0, or -EINVAL: size. Owner's thread. */
BRICK_API int brick_counters_read(
	struct brick_counters *counters, struct brick_counter_values *values);

/* Closes and frees the counters. NULL is legal. Owner's thread. */
BRICK_API void brick_counters_close(struct brick_counters *counters);

/* What brick_counted_begin() hands to brick_counted_end(). */
struct brick_counted {
	brick_span span; /* 0: nothing was begun */
	uint32_t brick;
	struct brick_counter_values begin; /* the counts at the begin */
};

/*
 * As brick_begin_layer() and brick_end_work(), with the hardware counters read inside of the
 * brick's time: a few tens of ns each where user space may read them, else a system call each. The
 * sums go into the brick's statistics, as many executions as were counted. Where none of the
 * counters can be had the brick is timed as ever, and a note says why. The first call of a thread
 * opens its counters.
 */
BRICK_API void brick_counted_begin(struct brick_counted *counted, uint32_t brick, int layer);
BRICK_API void brick_counted_end(
	struct brick_counted *counted, uint64_t elements, uint64_t bytes, uint64_t flops);

/* The counts of a brick's counted executions in the running session, on all threads. */
struct brick_counted_stats {
	size_t size;	  /* sizeof(struct brick_counted_stats) */
	uint64_t counted; /* executions */
	uint64_t cycles, instructions, cache_misses;
	uint64_t cycles_min, cycles_max; /* of single executions; 0 while `counted` is 0 */
};

#define BRICK_COUNTED_STATS_INIT BRICK_SIZED(struct brick_counted_stats)

/* -ENOENT: no session or no such brick. -EINVAL: size. */
BRICK_API int brick_counted_stats_get(uint32_t brick, struct brick_counted_stats *out);

/*
 * From the next step on, record after each step the counts of all recording threads of the process:
 * counters of these names in the recording, and "counter-reading", the ns that reading them took
 * around the step (not in its time). 0 ends it. The notes name each counter that cannot be had,
 * with the reason. Threads are counted from their first brick on. -EINVAL: unknown bits.
 */
BRICK_API int brick_counters_set(uint32_t wanted);

BRICK_END_DECLS

#endif
