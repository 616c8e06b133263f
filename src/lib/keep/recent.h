/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest part of what was emitted, kept in a fixed piece of memory, so that it can be emitted
 * again into a file of its own: records as they came out of the rings, times off the CPU, and
 * marks. The oldest go when the memory is full. Rounds divide it: only at the end of a round no
 * thread is ahead of another. One thread at a time; nothing allocates after recent_init().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/drain/drain.h"

enum recent_kind {
	RECENT_NOTHING, /* the end of the memory, or an item whose session has ended */
	RECENT_RECORDS,
	RECENT_OFF_CPU,
	RECENT_MARK,
	RECENT_ROUND, /* all that there was until `ns` stands before it */
};

/* Items follow each other, each with its content behind it. */
struct recent_item {
	uint64_t bytes; /* with the content; a multiple of 8 */
	enum recent_kind kind;
	uint32_t lane;	     /* RECENT_RECORDS */
	struct drain *drain; /* RECENT_RECORDS, RECENT_OFF_CPU */
	uint64_t count;	     /* of the content: records, intervals; of a mark 1 */
	uint64_t ns;	     /* RECENT_ROUND; CLOCK_MONOTONIC */
};

struct recent {
	char *memory;
	uint64_t capacity;
	uint64_t first, end; /* of the items, in bytes since the begin; % capacity: their place */
	uint64_t round_ns;   /* of the last RECENT_ROUND that was removed; 0: none was */
	bool is_cut;	     /* and a part of the round after it */
};

/* -ENOMEM. Pages of the memory are used from their first item on. */
int recent_init(struct recent *recent, uint64_t capacity);
void recent_fini(struct recent *recent);

/*
 * Records of a lane that drain_emit() gets next: where the lane stands is kept, too. What is larger
 * than a quarter of the memory is left out.
 */
void recent_records(struct recent *recent, struct drain *drain, uint32_t lane,
	const struct brick_record *records, size_t count);
void recent_off_cpu(struct recent *recent, struct drain *drain,
	const struct sink_off_cpu *intervals, size_t count);
void recent_mark(struct recent *recent, const struct sink_mark *mark);
void recent_round(struct recent *recent, uint64_t ns);

/* A session has ended: empties its items. */
void recent_forget(struct recent *recent, const struct drain *drain);

/*
 * Where the last round begins that began at `ns` or before; else the first whole round, or, where
 * there is none, the first item. *began_ns: when that was, 0: not known.
 */
uint64_t recent_begin(const struct recent *recent, uint64_t ns, uint64_t *began_ns);
/* The item there; *at goes on to the next. NULL: there is none. */
const struct recent_item *recent_next(const struct recent *recent, uint64_t *at);

/* Contents of items. */
struct recent_records {
	struct drain_start start;
	struct brick_record records[];
};
const struct recent_records *recent_records_of(const struct recent_item *item);
const struct sink_off_cpu *recent_off_cpu_of(const struct recent_item *item);
const struct sink_mark *recent_mark_of(const struct recent_item *item);
