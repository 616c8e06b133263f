/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the reader share. A load builds one run packet by packet; it owns what the run
 * does not keep. Nothing outside of load*.c includes this.
 */
#ifndef BRICK_TRACE_LOAD_STATE_H
#define BRICK_TRACE_LOAD_STATE_H

#include "trace/format.h"
#include "trace/load.h"
#include "trace/pb_read.h"

enum {
	LOAD_MAX_NAMES = 1 << 16, /* bricks, or categories, of all processes together */
	LOAD_MAX_PROCESSES = 1 << 14,
	LOAD_MAX_LANES = 1 << 14,
	LOAD_MAX_SEQUENCES = 1 << 15,
	LOAD_MAX_DEPTH = 250,	 /* deeper begins and their ends are bad */
	LOAD_MAX_TEXT = 1 << 16, /* of one name or value; longer ones are cut */
	LOAD_MAX_SOURCE = 16 << 20,
	LOAD_MAX_FLOWS = 32, /* of one event; further ones are not looked at */
};

/* Indices of equal things, by hash; what is equal the user knows. 0: empty, else index + 1. */
struct load_index {
	uint32_t *slots;
	uint32_t capacity, count;
};

/* What the ids of an interning table stand for; ids are mostly dense and small. */
struct load_iids {
	struct load_iid {
		uint64_t iid; /* 0: empty */
		uint32_t value;
	} * slots;
	uint32_t capacity, count;
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

/* What a slice's begin or end comes to, apart from its time: the same for equal packets. */
struct load_slice {
	uint32_t brick, site;
	uint8_t is_end;
	uint8_t source;
	uint8_t bare; /* without annotations */
	uint8_t step; /* of the engine */
};

/* A sequence of packets. Those of lanes have a lane. */
struct load_sequence {
	uint32_t id;
	uint32_t names_version; /* changes whenever the interning tables do */
	uint32_t lane;		/* index, or RUN_NONE */
	int cleared;		/* its first packet, with what the others need, was there */
	int has_clock;		/* `now` is set */
	uint64_t track_uuid;	/* of its events */
	uint64_t now;		/* ns, of the clock of lanes */

	struct load_iids names; /* of events: the run's bricks, enum format_event_name | OWN_NAME */
	struct load_iids categories; /* the run's categories */
	struct load_iids values;     /* indices of l->values */
	uint8_t annotations[32];     /* by iid: enum format_annotation */

	uint32_t depth, too_deep;
	uint32_t stack[LOAD_MAX_DEPTH]; /* samples */
	uint32_t ended;			/* the sample that ended last, or RUN_NONE */
	int in_wait;			/* inside of the wait that belongs to it */
	uint64_t wait_begin;
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

enum load_link_kind { LOAD_LINK_LAUNCHED, LOAD_LINK_AFTER };

/* What a slice says of a command by its number, until all commands are known. */
struct load_link {
	uint64_t number, order;
	uint32_t lane, sample;
	uint32_t kind; /* enum load_link_kind */
};

/* What the run's arrays have room for. */
struct load_room {
	size_t kernels, commands, afters, waits, codes, tiles, links;
	size_t categories, bricks, sites, processes, lanes, notes, points, steps, plain_sites,
		values;
	size_t load_processes, load_lanes, counters, digests;
};

/* What a lane's events say in ticks, until the clocks are known. */
struct load_lane {
	size_t sample_room;
	struct brick_stat *stats; /* by the run's brick */
	size_t stat_room;
	uint64_t start_ticks, end_ticks, hook_ticks;
	uint64_t last_ns;
	size_t last_command; /* index + 1; 0: none yet */
};

struct load_process {
	struct brick_clock clock;
	uint64_t flow_base;
	uint64_t **histograms; /* by the run's brick */
	size_t histogram_room;
	uint64_t pair_cost, pair_cost_low, pair_cost_high; /* ticks x 256 */
	uint64_t end_ticks;
	int ended;
};

struct load_counter {
	uint64_t uuid;
	uint32_t brick;
};

struct load {
	struct run *run;
	struct load_error *error;
	int result;	 /* the first error; nothing is read after it */
	uint64_t offset; /* in the file, of the packet being read */
	int is_brick;	 /* its own first event has been seen */
	int has_clock;
	uint64_t last_ns;
	uint32_t wait_brick; /* the run's BarrierWait, or RUN_NONE */

	struct load_room room;
	struct load_lane *lanes;
	struct load_process *processes;
	uint32_t *plain_sites; /* by brick: the site that its last sample without a label had */
	struct load_value *values;
	size_t value_count;
	struct load_index category_index, brick_index, site_index, kernel_index, code_index;
	struct load_link *links;
	size_t link_count;
	struct load_sequence **sequences; /* by id; open addressing */
	uint32_t sequence_capacity, sequence_count;
	struct load_sequence *last_sequence;
	struct load_memo *memo;
	struct load_ahead *ahead;
	struct load_counter *counters;
	size_t counter_count;
};

/* load.c: the first error wins; returns it. */
int load_fail(struct load *l, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int load_no_memory(struct load *l);
/* Room for one more entry of `bytes` each; new ones are zeroed. 0: no memory. */
int load_grow(struct load *l, void *array, size_t *room, size_t count, size_t bytes);

/* load_names.c: the run's index of a name or site, new if need be; RUN_NONE: failed, or too many */
uint32_t load_category(struct load *l, struct pb_reader name);
uint32_t load_brick(struct load *l, struct pb_reader name);
uint32_t load_site(struct load *l, const struct run_site *site);
uint32_t load_kernel(struct load *l, const struct run_kernel *kernel);
/* Add a program's source; its texts are taken. 0: failed. */
int load_code(struct load *l, struct run_code *code);
char *load_text(struct load *l, struct pb_reader text); /* a copy, or NULL when failed */
void load_names_fini(struct load *l);

/* load_iids.c */
int load_iid_set(struct load *l, struct load_iids *table, uint64_t iid, uint32_t value);
void load_iids_fini(struct load_iids *table);

static inline uint32_t load_iid_get(const struct load_iids *table, uint64_t iid)
{
	for (uint32_t at = (uint32_t)iid; table->capacity; at++) {
		const struct load_iid *slot = &table->slots[at & (table->capacity - 1)];
		if (slot->iid == iid)
			return iid ? slot->value : RUN_NONE;
		if (!slot->iid)
			break;
	}
	return RUN_NONE;
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

/*
 * load_event.c: a track event of a lane, at s->now. 0: it could not be used. *slice: what it came
 * to; the result is 2 when every packet with the same event comes to the same.
 */
int load_lane_event(
	struct load *l, struct load_sequence *s, struct pb_reader event, struct load_slice *slice);
int load_slice(struct load *l, struct load_sequence *s, const struct load_slice *slice);

/* load_command.c: what an event says of a sample beyond its site */
#define LOAD_MORE_MASK                                                                       \
	(1u << FORMAT_A_KERNEL | 1u << FORMAT_A_BRICK | 1u << FORMAT_A_CALL |                \
		1u << FORMAT_A_LAUNCHED | 1u << FORMAT_A_QUEUED | 1u << FORMAT_A_SUBMITTED | \
		1u << FORMAT_A_AFTER | 1u << FORMAT_A_ROW | 1u << FORMAT_A_COLUMN |          \
		1u << FORMAT_A_LEVEL)

static inline int load_has_more(const struct load_event *e)
{
	return e->flow_count || e->present & LOAD_MORE_MASK;
}

void load_more(
	struct load *l, struct load_sequence *s, uint32_t sample, const struct load_event *e);
int load_code_event(struct load *l, struct pb_reader event);

/* load_links.c: all packets are read */
void load_links_finish(struct load *l);

/* load_memo.c: packets that were decoded before, but for their timestamp */
int load_memo_packet(struct load *l, struct pb_reader packet); /* 1: done */
void load_memo_add(struct load *l, struct load_sequence *s, struct pb_reader packet,
	struct pb_reader timestamp, const struct load_slice *slice);
void load_memo_fini(struct load *l);
/* A lane's timestamps are relative to each other; 0: the sum is nonsense. */
static inline int load_advance(struct load_sequence *s, uint64_t delta)
{
	return s->has_clock && !__builtin_add_overflow(s->now, delta, &s->now);
}

/* load_run.c: an event of the run's own. 0: it could not be used. */
int load_own_event(struct load *l, struct pb_reader event);

/* What several kinds of them have. Texts replace *to; what is not there changes nothing. */
uint64_t load_uint(struct pb_reader event, const char *name, uint64_t fallback);
void load_text_of(struct load *l, struct pb_reader event, const char *name, char **to);
void load_ledger(struct pb_reader event, struct brick_ledger *ledger);
/* The process that an event is about; NULL when there is none of that number. */
struct load_process *load_process(struct load *l, struct pb_reader event, uint64_t *number);

/* load_statistics.c: the events of that name. 0: it could not be used. */
int load_statistics(struct load *l, struct pb_reader event);
int load_histogram(struct load *l, struct pb_reader event);

/* load_digest.c: one of the events of that name; and when the clocks are known */
int load_digest(struct load *l, struct pb_reader event);
void load_digests_finish(struct load *l);

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

/* load_finish.c: all packets are read */
void load_finish(struct load *l);

/* load_inflate.c: the packets of a compressed one. 1, 0: cannot be inflated, -1: no memory. */
struct load_inflater;
struct load_inflater *load_inflater_create(void);
void load_inflater_destroy(struct load_inflater *inflater);
int load_inflate(struct load_inflater *inflater, struct pb_reader packed, struct pb_reader *out);

/* load_ahead.c: the same for a few packets at a time */
struct load_ahead;
struct load_ahead *load_ahead_create(void);
void load_ahead_destroy(struct load_ahead *a);
int load_ahead_full(const struct load_ahead *a);
/* One more, if it is not full; packed is copied. 0: no memory. */
int load_ahead_hand(struct load_ahead *a, struct pb_reader packed, uint64_t offset);
/* Whether there is one; *result: as of load_inflate(), of the oldest; *out: its packets until it is
 * released. */
int load_ahead_take(struct load_ahead *a, struct pb_reader *out, int *result, uint64_t *offset);
void load_ahead_release(struct load_ahead *a);

#endif
