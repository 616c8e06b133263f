/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the reader share. A load builds one run packet by packet; it owns what the run
 * does not keep. Nothing outside of load*.c includes this.
 */
#pragma once

#include "base/hashmap.h"
#include "trace/build.h"
#include "trace/format.h"
#include "trace/load.h"
#include "trace/pb_read.h"

enum {
	LOAD_MAX_SEQUENCES = 1 << 16,
	LOAD_MAX_SOURCE = 16 << 20,
	LOAD_MAX_FLOWS = 32, /* of one event; further ones are not looked at */
};

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

/* A track event, taken apart. */
struct load_event {
	uint64_t type, name, category, track_uuid;
	double counter;
	uint32_t present; /* bit per enum format_annotation */
	uint32_t flow_count;
	struct pb_reader after; /* the annotation itself, when it is present */
	uint64_t value[32];
	uint64_t flows[LOAD_MAX_FLOWS];
};

#define LOAD_HAS(e, name) ((e)->present >> FORMAT_A_##name & 1)

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

/* load_site.c: the JSON object of a site, its texts the caller's; 0 when it is none */
int load_site_json(struct pb_reader text, struct run_site *site);

/* load_kernel.c: the JSON object of a kernel, its texts the caller's; 0 when it is none */
int load_kernel_json(struct pb_reader text, struct run_kernel *kernel);
void load_kernel_free(struct run_kernel *kernel);

/* load_packet.c: one TracePacket; malformed ones are counted */
void load_packet(struct load *l, struct pb_reader packet);
struct load_sequence *load_sequence(struct load *l, uint32_t id);
void load_sequences_fini(struct load *l);

/* load_intern.c: what a packet adds to its sequence's interning tables */
int load_interned(struct load *l, struct load_sequence *s, struct pb_reader interned);
void load_values_fini(struct load *l);

/*
 * load_event.c: a track event of a lane, at s->now. 0: it could not be used. *slice: what it came
 * to; the result is 2 when every packet with the same event comes to the same.
 */
int load_lane_event(
	struct load *l, struct load_sequence *s, struct pb_reader event, struct build_slice *slice);

/* load_off_cpu.c: an event at s->off_cpu.now. 0: it could not be used. */
int load_off_cpu_event(struct load_sequence *s, struct pb_reader event);

/* load_command.c: what an event says of a sample beyond its site */
#define LOAD_ARGS_MASK                                                                       \
	(1u << FORMAT_A_KERNEL | 1u << FORMAT_A_BRICK | 1u << FORMAT_A_CALL |                \
		1u << FORMAT_A_LAUNCHED | 1u << FORMAT_A_QUEUED | 1u << FORMAT_A_SUBMITTED | \
		1u << FORMAT_A_AFTER | 1u << FORMAT_A_ROW | 1u << FORMAT_A_COLUMN |          \
		1u << FORMAT_A_LEVEL)

static inline int load_has_args(const struct load_event *e)
{
	return e->flow_count || e->present & LOAD_ARGS_MASK;
}

void load_args(
	struct load *l, struct load_sequence *s, uint32_t sample, const struct load_event *e);
int load_code_event(struct load *l, struct pb_reader event);

/* load_memo.c: packets that were decoded before, but for their timestamp */
int load_memo_packet(struct load *l, struct pb_reader packet); /* 1: done */
void load_memo_add(struct load *l, struct load_sequence *s, struct pb_reader packet,
	struct pb_reader timestamp, const struct build_slice *slice);
void load_memo_fini(struct load *l);
/* A lane's timestamps are relative to each other; 0: the sum is nonsense. */
static inline int load_advance(struct load_sequence *s, uint64_t delta)
{
	return s->has_clock && !__builtin_add_overflow(s->lane->now, delta, &s->lane->now);
}

/* load_run.c: an event of the run's own. 0: it could not be used. */
int load_own_event(struct load *l, struct pb_reader event);

/* What several kinds of them have. Texts replace *to; what is not there changes nothing. */
uint64_t load_uint(struct pb_reader event, const char *name, uint64_t fallback);
void load_text_of(struct load *l, struct pb_reader event, const char *name, char **to);
void load_ledger(struct pb_reader event, struct brick_ledger *ledger);
/* The process that an event is about; NULL when there is none of that number. */
struct build_process *load_process(struct load *l, struct pb_reader event, uint64_t *number);

/* load_statistics.c: the events of that name. 0: it could not be used. */
int load_statistics(struct load *l, struct pb_reader event);
int load_histogram(struct load *l, struct pb_reader event);

/* load_digest.c: one of the events of that name */
int load_digest(struct load *l, struct pb_reader event);

/* load_annotation.c: one debug annotation, and finding one by name */
struct load_annotation {
	struct pb_reader name;	 /* empty in lists */
	struct pb_reader text;	 /* .at is NULL when it is no text */
	uint64_t value;		 /* of integers and booleans */
	struct pb_reader inside; /* the message itself, for load_next() on lists and dictionaries */
};
/* The next one of `field` in a message. 1, 0 at the end, -1 malformed. */
int load_next(struct pb_reader *message, uint32_t field, struct load_annotation *a);
/* In a whole event (field EVENT_ANNOTATIONS) or dictionary (ANNOTATION_DICT). 0: not there. */
int load_find(
	struct pb_reader message, uint32_t field, const char *name, struct load_annotation *a);
uint64_t load_find_uint(
	struct pb_reader message, uint32_t field, const char *name, uint64_t fallback);
