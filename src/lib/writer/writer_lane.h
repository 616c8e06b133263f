/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane of a recording: its sequence of packets, and the state of that sequence. lane_rules.c
 * checks records and calls the functions here with those that keep the rules. One thread at a time.
 */
#pragma once

#include "base/array.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "lib/writer/gpu_stages.h"
#include "lib/writer/writer_names.h"

enum { TEMPLATE_BYTES = 48, SITES_A_PAGE = 32 };

/* The start of a slice, ready to copy: a packet without its timestamp. */
struct packet_template {
	uint8_t bytes[TEMPLATE_BYTES];
	uint16_t length; /* of bytes; 0: not made yet */
	uint16_t brick;
	uint16_t sibling;  /* of a site: as in struct site_numbers */
	packet_place last; /* of the last packet made from it; 0: none */
};

/* Templates for slices without a site. */
struct template_table {
	ARRAY(struct packet_template) entries;
	struct hashmap by_brick; /* brick and layer -> position in entries */
};

/* The state of lane_rules.c, from the records so far. */
struct lane_rules {
	uint64_t *bad;			/* counts the records that break the rules */
	uint64_t last_ticks;		/* a record with an earlier time breaks the rules */
	uint32_t depth;			/* frames that are open */
	uint16_t open[BRICK_MAX_DEPTH]; /* [depth]: their bricks */
	bool ended;		  /* the last record ended a slice, of which more may still come */
	struct brick_record held; /* of which the next records may say more; kind 0: none */
	struct record_args args;  /* about it, so far */
};

struct writer_lane {
	struct packets *packets; /* the writer's */
	struct writer_process *process;
	uint32_t number, process_number, sequence;
	uint32_t kind;
	uint64_t tid, uuid, start_ticks;
	uint64_t track_tid;	    /* the thread whose track the lane's slices are on */
	ARRAY(uint64_t) former;	    /* earlier threads: each has a track */
	char name[64], backend[16]; /* name: of that thread, "" while not known */
	uint64_t queue_flags;
	bool started; /* its sequence has its first packet */

	struct lane_rules rules;
	uint64_t pairs, open_frames; /* written */
	uint64_t last_ns; /* time of its last packet: the next timestamp is relative to it */
	uint64_t open_ns[BRICK_MAX_DEPTH];
	uint64_t begin_ns; /* of the slice that began or ended last */
	uint64_t step_ns;  /* the same for a step that has just ended; else 0 */

	struct lane_names names;
	struct packet_template **site_pages; /* of SITES_A_PAGE each, made when one is met */
	uint32_t site_pages_capacity;
	struct template_table plain;
	struct gpu_stages stages; /* of a queue */
	struct packet_template wait_begin;
	uint8_t end_tail[16]; /* of a slice's end without annotations and timestamp */
	uint32_t end_tail_bytes;
	packet_place last_begin, last_end, last_wait_end, last_annotated_begin, last_annotated_end;
	uint64_t off_cpu_ns;  /* time of the last packet of its other track; 0: there is none yet */
	size_t off_cpu_owner; /* whose that track is */
	packet_place off_cpu_begin[2], off_cpu_end;
};

/*
 * A lane of the recording; `number` is its number there, and records that break the rules are
 * counted in *bad. NULL: no memory.
 */
struct writer_lane *writer_lane_create(struct writer_process *process, uint32_t process_number,
	uint32_t number, const struct brick_lane *state, uint64_t *bad);
void writer_lane_destroy(struct writer_lane *lane);

/* All calls from here on return 0, or the error of the packets. */
int writer_lane_off_cpu(
	struct writer_lane *lane, const struct sink_off_cpu *intervals, size_t count);
int writer_lane_name(struct writer_lane *lane, const char *name);

/*
 * Records that keep the rules; lane_rules.c makes these calls, and rules.depth is that from before
 * the record. args: NULL when there are none.
 */
int writer_lane_start(struct writer_lane *lane, const struct brick_record *first);
int writer_lane_sample(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args);
int writer_lane_open(struct writer_lane *lane, const struct brick_record *r);
/* r: the CLOSE of the innermost frame */
int writer_lane_close(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args);
int writer_lane_wait(struct writer_lane *lane, const struct brick_record *r);
/* r: THREAD, NAME, DROP, INSTANT, REPORTED, COUNTER, SEQUENCE, EXPERT, MEMORY or MESSAGE */
int writer_lane_instant(struct writer_lane *lane, const struct brick_record *r);
/* args: about the slice that ended last, which was handed over before these records came */
int writer_lane_late(struct writer_lane *lane, const struct record_args *args);

/* Why frames end without their CLOSE. */
enum lane_unwind {
	LANE_UNWOUND, /* something outside of them was closed */
	LANE_OPEN,    /* their thread is gone */
};
/* Ends the innermost `frames` frames. */
int writer_lane_unwind(struct writer_lane *lane, uint32_t frames, enum lane_unwind why);
