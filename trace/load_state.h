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
	LOAD_MAX_NAMES = 1 << 20,    /* bricks, or categories, of all processes together */
	LOAD_MAX_PROCESSES = 1 << 16,
	LOAD_MAX_LANES = 1 << 20,
	LOAD_MAX_DEPTH = 250,        /* deeper begins and their ends are bad */
	LOAD_EVENT_IIDS = FORMAT_N_WORK + 1,
	LOAD_CATEGORY_IIDS = FORMAT_OWN_CATEGORY_IID + 1,
	LOAD_VALUE_IIDS = FORMAT_SOURCE_IID + FORMAT_SOURCE_COUNT,
};

/* Indices of equal things, by hash; what they are the user knows. 0: empty, else index + 1. */
struct load_index {
	uint32_t *slots;
	uint32_t capacity, count;
};

/* An interned string value of a sequence: a site, once its brick is known, or a source. */
struct load_value {
	struct run_site site; /* without its brick; text not owned: lies in the load's arena */
	uint32_t brick, index; /* the run's site that it was last resolved to, for that brick */
	uint8_t kind;         /* enum load_value_kind */
	uint8_t source;
};
enum load_value_kind { LOAD_VALUE_NONE, LOAD_VALUE_SITE, LOAD_VALUE_SOURCE };

/* A sequence of packets. Those of lanes have a lane. */
struct load_sequence {
	uint32_t id;
	uint32_t lane; /* index, or RUN_NONE */
	int cleared;   /* its state has been said since it began */
	uint32_t clock_id; /* of its timestamps */
	uint64_t track_uuid; /* of its events */
	uint64_t now;  /* ns, of the clock of lanes */

	uint32_t *bricks; /* by event name iid: the run's brick, or RUN_NONE; LOAD_EVENT_IIDS */
	uint32_t *categories; /* by iid; LOAD_CATEGORY_IIDS */
	struct load_value **values; /* by iid; grows */
	uint32_t value_room;
	uint8_t annotations[32]; /* by iid: enum format_annotation */
	uint32_t *plain_sites; /* by event name iid: the site last used without an interned one */

	uint32_t depth, too_deep;
	uint32_t stack[LOAD_MAX_DEPTH]; /* samples */
	uint32_t ended;   /* the sample that ended last, or RUN_NONE */
	int in_wait;      /* inside of the wait that belongs to it */
	uint64_t wait_begin;
};

/* What the run's arrays have room for. */
struct load_room {
	size_t categories, bricks, sites, processes, lanes, notes, points;
};

struct load_lane {
	size_t sample_room;
	struct brick_stat *stats; /* by the run's brick; ticks */
	size_t stat_room;
	uint64_t start_ticks, end_ticks, hook_ticks;
	uint64_t last_ns;
	int has_statistics;
};

struct load_process {
	struct brick_clock clock;
	uint64_t **histograms; /* by the run's brick */
	size_t histogram_room;
	uint64_t pair_cost, pair_cost_low, pair_cost_high;
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
	int result; /* first error; nothing is read after it */
	uint64_t offset; /* in the file, of the packet being read */
	int is_brick; /* its own first event has been seen */
	int has_clock;
	uint64_t last_ns;

	struct load_room room;
	struct load_lane *lanes;
	struct load_process *processes;
	struct load_index category_index, brick_index, site_index;
	struct load_sequence **sequences; /* by id; open addressing */
	uint32_t sequence_capacity, sequence_count;
	struct load_sequence *last_sequence;
	struct load_counter *counters;
	size_t counter_count, counter_room;
	void *arena; /* blocks of text */
};

/* load.c: the first error wins; returns it. */
int load_fail(struct load *l, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int load_no_memory(struct load *l);
/* Room for one more entry of `bytes` each; new ones are zeroed. 0: no memory. */
int load_grow(struct load *l, void *array, size_t *room, size_t count, size_t bytes);

/* load_names.c: the run's index of a name or site, new if need be; RUN_NONE: no memory, or full */
uint32_t load_category(struct load *l, const char *name, size_t bytes);
uint32_t load_brick(struct load *l, const char *name, size_t bytes);
uint32_t load_site(struct load *l, const struct run_site *site);
char *load_text(struct load *l, struct pb_reader text); /* a copy; NULL: no memory */
char *load_arena_text(struct load *l, const char *text, size_t bytes);
void load_names_fini(struct load *l);

/* load_site.c: the JSON object of a site; 0 when it is none */
int load_site_json(struct load *l, struct pb_reader text, struct run_site *site);

/* load_packet.c: one TracePacket; malformed ones are counted */
void load_packet(struct load *l, struct pb_reader packet);
struct load_sequence *load_sequence(struct load *l, uint32_t id);
void load_sequences_fini(struct load *l);

/* load_event.c: a track event of a lane */
void load_lane_event(struct load *l, struct load_sequence *s, struct pb_reader event);

/* load_run.c: an event of the run's own */
void load_own_event(struct load *l, struct pb_reader event);

/* load_finish.c: all packets are read */
void load_finish(struct load *l);

/* load_inflate.c: the packets of a compressed one. 0: cannot be inflated. */
struct load_inflater;
struct load_inflater *load_inflater_create(void);
void load_inflater_destroy(struct load_inflater *inflater);
int load_inflate(struct load_inflater *inflater, struct pb_reader packed, struct pb_reader *out);

#endif
