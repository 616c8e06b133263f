/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of ids in a recording: sequences of packets with their interning tables, sites,
 * counters. Names of all sequences become the run's own. A bool says whether a message could be
 * used. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include "format/perfetto.h"
#include "base/array.h"
#include "base/hashmap.h"
#include "trace/build.h"
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

/* State of a sequence that says when a lane's threads were off their CPUs. */
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
	bool cleared;	/* its first packet, which the others need, was there */
	bool has_clock; /* lane->now is set */

	/* Interning tables: the meaning of ids. */
	struct hashmap names; /* of events: the run's bricks, enum format_event_name | OWN_NAME */
	struct hashmap categories; /* the run's categories */
	struct hashmap values;	   /* indices of load_ids.values */
	uint8_t annotations[64];   /* by iid: enum format_annotation */
};

/* Marks names of Brick's own instants in load_sequence.names. */
#define LOAD_OWN_NAME 0x80000000u

struct load_counter {
	uint64_t uuid;
	uint32_t brick;
};

struct load_ids {
	struct build *build;
	ARRAY(struct load_value) values;
	struct hashmap sites;	  /* indices of values, by their text or id in events */
	struct hashmap sequences; /* by id */
	struct load_sequence *last_sequence;
	ARRAY(struct load_counter) counters; /* by track; the last one of a track counts */
};

void load_ids_fini(struct load_ids *l);

/* The sequence of that id, new if need be; NULL: no memory, or too many. */
struct load_sequence *load_sequence(struct load_ids *l, uint32_t id);
/* Begins a sequence, or begins it anew. */
void load_sequence_clear(struct load_sequence *s);

/* An entry of any interned data. */
struct load_entry {
	uint64_t iid; /* not 0 */
	struct pb_reader text;
	struct pb_reader facts; /* at NULL: there are none */
};
bool load_entry(struct pb_reader message, struct load_entry *entry);

/* Adds a packet's entries to its sequence's interning tables. */
bool load_interned(struct load_ids *l, struct load_sequence *s, struct pb_reader interned);
/* Adds descriptions of sites, for events of all sequences. */
bool load_described(struct load_ids *l, struct pb_reader extension);
/* Says that the track belongs to a counter of that name. */
bool load_counter(struct load_ids *l, uint64_t uuid, struct pb_reader name);

/* Looks an id up; RUN_NONE: it is not in the table. */
static inline uint32_t load_id(const struct hashmap *table, uint64_t iid)
{
	return (uint32_t)hashmap_get(table, iid);
}

/* A lane's timestamps are relative to each other; false: the sum is nonsense. */
static inline bool load_advance(struct load_sequence *s, uint64_t delta)
{
	return s->has_clock && !__builtin_add_overflow(s->lane->now, delta, &s->lane->now);
}
