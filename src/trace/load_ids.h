/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of ids in a recording. Packets come in sequences; each has interning tables, which
 * give a meaning to the ids (iid) in its later packets. Sites and counters are known to all
 * sequences. All names become indices of the run. Functions that return bool return true if the
 * message could be used. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include "format/perfetto.h"
#include "base/array.h"
#include "base/hashmap.h"
#include "trace/build.h"
#include "base/pb_read.h"

enum load_value_kind {
	LOAD_VALUE_SITE,
	LOAD_VALUE_SOURCE,
	LOAD_VALUE_BRICK,
	LOAD_VALUE_KERNEL,
	LOAD_VALUE_OTHER,
};

/*
 * An interned string value of a sequence. The meaning depends on `kind`: `index` is the run's site,
 * brick or kernel.
 */
struct load_value {
	uint32_t kind;	      /* enum load_value_kind */
	uint32_t source;      /* LOAD_VALUE_SOURCE: enum brick_source */
	struct run_site site; /* LOAD_VALUE_SITE: its facts; owns its texts. site.brick is the brick
				 for which `index` holds */
	uint32_t index;	      /* RUN_NONE: a site that was not used with any brick yet */
};

/* State of a sequence that says when a lane's threads were off their CPUs. */
struct load_off_cpu {
	struct build_lane *lane; /* NULL: it is no such sequence */
	uint64_t now;		 /* ns: time of the last packet */
	uint64_t begin_ns;	 /* of the open slice */
	uint32_t name;		 /* of the open slice, as in load_sequence.names; 0: none is open */
};

/* A sequence of packets. */
struct load_sequence {
	uint32_t id;
	uint32_t names_version;	 /* changes whenever the interning tables do */
	struct build_lane *lane; /* whose events it holds; NULL: it holds none of a lane */
	struct load_off_cpu off_cpu;
	bool cleared;	/* its first packet was there: without it the others mean nothing */
	bool has_clock; /* lane->now is set: timestamps can be added to it */

	/* Interning tables: the meaning of ids. */
	struct hashmap names;	   /* a run's brick, or enum format_event_name | LOAD_OWN_NAME */
	struct hashmap categories; /* the run's categories */
	struct hashmap values;	   /* indices of load_ids.values */
	uint8_t annotations[64];   /* by iid: enum format_annotation */
};

/* Marks Brick's own instants in load_sequence.names; all indices of bricks are below it. */
#define LOAD_OWN_NAME 0x80000000u

struct load_counter {
	uint64_t uuid;	/* of its track */
	uint32_t brick; /* that names the counter in the run */
};

struct load_ids {
	struct build *build;
	ARRAY(struct load_value) values;
	struct hashmap sites;		     /* indices in `values`, by a site's id in events */
	struct hashmap sequences;	     /* pointers to sequences, by id */
	struct load_sequence *last_sequence; /* that was looked up last: likely the next one, too */
	ARRAY(struct load_counter) counters; /* a later entry of a track replaces an earlier one */
};

void load_ids_fini(struct load_ids *l);

/* The sequence of that id, made if it is new; NULL: no memory, or too many sequences. */
struct load_sequence *load_sequence(struct load_ids *l, uint32_t id);
/* Begins a sequence, or begins it anew: forgets its interning tables. */
void load_sequence_clear(struct load_sequence *s);

/* An entry of an interning table, of any kind. It borrows the message. */
struct load_entry {
	uint64_t iid; /* not 0 */
	struct pb_reader text;
	struct pb_reader facts; /* FORMAT_FACTS_FIELD; .at NULL: there are none */
};
/* False: malformed, or it has no id. */
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

/* Moves the lane's time on by a packet's timestamp, which is a delta. False: no time is known yet,
 * or it overflows. */
static inline bool load_advance(struct load_sequence *s, uint64_t delta)
{
	return s->has_clock && !__builtin_add_overflow(s->lane->now, delta, &s->lane->now);
}
