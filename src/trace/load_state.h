/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load builds one run packet by packet; it owns what the run does not keep: sequences of packets
 * and what their ids stand for. Nothing outside of load*.c includes this.
 */
#pragma once

#include "base/hashmap.h"
#include "trace/build.h"
#include "trace/load.h"
#include "trace/pb_read.h"

enum load_value_kind {
	LOAD_VALUE_SITE,
	LOAD_VALUE_SOURCE,
	LOAD_VALUE_BRICK,
	LOAD_VALUE_KERNEL,
	LOAD_VALUE_OTHER,
};

/*
 * An interned string value of a sequence: a site, once its brick is known, a source, the run's
 * brick or kernel (index).
 */
struct load_value {
	uint32_t kind;	      /* enum load_value_kind */
	uint32_t source;      /* enum brick_source */
	struct run_site site; /* brick: the one it was resolved for last; owns its texts */
	uint32_t index;	      /* the run's site for that brick; RUN_NONE: not resolved yet */
};

/* Of a sequence that says when a lane's threads were off their CPUs. */
struct load_off_cpu {
	struct build_lane *lane; /* NULL: it is none */
	uint64_t now, begin_ns;
	uint32_t name; /* of the slice that is open, as in load_sequence.names; 0: none is */
};

/* A sequence of packets. Those of lanes have a lane. */
struct load_sequence {
	uint32_t id;
	uint32_t names_version;	 /* changes whenever the interning tables do */
	struct build_lane *lane; /* NULL: it is no lane's */
	struct load_off_cpu off_cpu;
	int cleared;	     /* its first packet, with what the others need, was there */
	int has_clock;	     /* lane->now is set */
	uint64_t track_uuid; /* of its events */

	/* Interning tables: what ids stand for. */
	struct hashmap names; /* of events: the run's bricks, enum format_event_name | OWN_NAME */
	struct hashmap categories; /* the run's categories */
	struct hashmap values;	   /* indices of l->values */
	uint8_t annotations[32];   /* by iid: enum format_annotation */
};

/* In load_sequence.names, for those of Brick's own instants. */
#define LOAD_OWN_NAME 0x80000000u

struct load_counter {
	uint64_t uuid;
	uint32_t brick;
};

struct load {
	struct build build;
	struct load_error *error;
	uint64_t offset; /* in the file, of the packet being read */
	int is_brick;	 /* its own first event has been seen */

	struct load_value *values;
	size_t value_count, value_capacity;
	struct hashmap sites;	  /* indices of values, by what stands for them in events */
	struct hashmap sequences; /* by id */
	struct load_sequence *last_sequence;
	struct load_memo *memo;
	struct prefetch *prefetch;
	struct load_counter *counters;
	size_t counter_count, counter_capacity;
	uint64_t *flow_bases; /* by process */
	size_t flow_base_capacity;
};

/* load.c: the first error wins; returns it. */
int load_fail(struct load *l, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* In an interning table. */
static inline int load_iid_set(struct load *l, struct hashmap *table, uint64_t iid, uint32_t value)
{
	if (iid && hashmap_set(table, iid, value))
		build_no_memory(&l->build);
	return iid && !l->build.result;
}

static inline uint32_t load_iid_get(const struct hashmap *table, uint64_t iid)
{
	return (uint32_t)hashmap_get(table, iid); /* RUN_NONE: not there */
}

/* load_packet.c: one TracePacket; malformed ones are counted */
void load_packet(struct load *l, struct pb_reader packet);
struct load_sequence *load_sequence(struct load *l, uint32_t id);
void load_packets_fini(struct load *l);

/* load_memo.c: those at the begin of a chunk, as far as they are known */
void load_memo_packets(struct load *l, struct pb_reader *chunk);

/* load_intern.c: what a packet adds to its sequence's interning tables */
int load_interned(struct load *l, struct load_sequence *s, struct pb_reader interned);
/* What sites are, for events of all sequences. */
int load_described(struct load *l, struct pb_reader extension);
void load_values_fini(struct load *l);

/* load_off_cpu.c: an event at s->off_cpu.now. 0: it could not be used. */
int load_off_cpu_event(struct load_sequence *s, struct pb_reader event);

/* A lane's timestamps are relative to each other; 0: the sum is nonsense. */
static inline int load_advance(struct load_sequence *s, uint64_t delta)
{
	return s->has_clock && !__builtin_add_overflow(s->lane->now, delta, &s->lane->now);
}
