/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane of a recording as its packets need it: what its sequence has said so far, and its process.
 * Of the writer it knows where packets are laid. Included by the writer's files.
 */
#pragma once

#include "base/array.h"
#include "base/hashmap.h"
#include "lib/writer/format.h"
#include "lib/writer/packets.h"
#include "lib/writer/trace_records.h"
#include "lib/writer/sink.h"

struct trace_writer;

enum {
	TEMPLATE_BYTES = 48,
	WRITER_LAYERS = 128, /* of which numbers of sites tell */
	WRITER_PLACES = BRICK_MAX_SITES / WRITER_LAYERS,
};

/* The start of a slice, ready to copy: a packet from behind its timestamp on. */
struct packet_template {
	uint8_t bytes[TEMPLATE_BYTES];
	uint16_t length; /* of bytes; 0: not made yet */
	uint16_t brick;
	uint16_t sibling; /* of a site: as in struct site_numbers */
	packet_place last;
};

/* What stands for a site's texts (writer_site.c). */
struct site_numbers {
	uint32_t site, operation, tensor;
	uint16_t sibling; /* the site that has the same place in the layer before; 0: none */
};

/* Templates for slices without a site. */
struct template_table {
	ARRAY(struct packet_template) entries;
	struct hashmap by_brick; /* and layer: their positions */
};

/* Kinds of tracks, for their uuids. */
enum { UUID_RUN, UUID_PROCESS, UUID_LANE, UUID_COUNTER, UUID_FLOW, UUID_OFF_CPU, UUID_TRACE };

/* Numbers of commands that have an arrow to who waited for them; arrows from one launch. */
enum { WRITER_ARROWS = 1 << 15, WRITER_MAX_FLOWS = 1 << 14 };

struct writer_process {
	uint32_t pid;
	uint64_t uuid;
	struct brick_clock clock;	/* its own */
	const struct brick_clock *best; /* or what somebody gave of the same source */
	struct tables tables;
	struct site_numbers *sites; /* of those that were described */
	uint32_t site_count;
	size_t site_capacity;
	uint32_t operations[BRICK_MAX_BRICKS]; /* by brick: the site whose operation was last */
	uint16_t site_of_place[WRITER_PLACES];
	uint64_t *counter_uuids; /* by brick; 0: no track yet */
	uint64_t flow_base;	 /* of the ids of its flows: add a command's number */
	uint64_t *arrows;	 /* [WRITER_ARROWS] numbers that have an arrow to who waited */
	int ended;
};

struct writer_lane {
	struct trace_writer *writer;
	struct packets *packets; /* the writer's */
	struct writer_process *process;
	uint32_t number, process_number, sequence;
	uint32_t kind;
	uint64_t tid, uuid, start_ticks;
	uint64_t track_tid;	    /* the thread that its track is of */
	ARRAY(uint64_t) former;	    /* threads that had it before: each has a track */
	char name[64], backend[16]; /* name: of that thread, "" while not known */
	uint64_t queue_flags;
	int started; /* its sequence has its first packet */

	struct records_lane records;
	uint64_t pairs, open_frames; /* written */
	uint64_t last_ns; /* of its last packet: what the next timestamp is relative to */
	uint64_t open_ns[BRICK_MAX_DEPTH];
	uint64_t begin_ns; /* of the slice that began or ended last */
	uint64_t step_ns;  /* the same, if that is a step that has just ended; else 0 */

	uint64_t interned_bricks[BRICK_MAX_BRICKS / 64];
	uint64_t interned_categories;
	uint32_t interned_sources, interned_events;
	uint64_t interned_values[BRICK_MAX_BRICKS / 64]; /* bricks, as values */
	uint64_t interned_kernels[BRICK_MAX_KERNELS / 64];
	struct packet_template *site_templates; /* by site */
	uint32_t site_capacity;
	struct template_table plain;
	struct packet_template wait_begin;
	uint8_t end_tail[16]; /* of a slice's end without annotations, behind its timestamp */
	uint32_t end_tail_bytes;
	packet_place last_begin, last_end, last_wait_end, last_annotated_begin, last_annotated_end;
	uint64_t off_cpu_ns;  /* of the last packet of its other track; 0: there is none yet */
	size_t off_cpu_owner; /* whose that track is */
	packet_place off_cpu_begin[2], off_cpu_end;
};

/* writer_track.c: what the packets of a lane are on */
int writer_lane_start(struct writer_lane *lane, uint64_t ns);
/* From here on the lane is another thread's: a track of its own, without a name yet. */
int writer_lane_owner(struct writer_lane *lane, uint64_t tid);
/* Of a thread that has or had the lane, by its place among them: a track of that kind. */
uint64_t writer_owner_uuid(const struct writer_lane *lane, uint64_t kind, size_t owner);
int writer_lane_name(struct writer_lane *lane, const char *name);
int writer_counter_track(struct writer_lane *lane, uint32_t brick);
/* Whether a counter tells of a whole step: its unit, enum perfetto_unit; 0: it does not. */
uint32_t writer_step_counter(const struct writer_process *process, uint32_t brick);

/* writer_names.c: what must be said before a packet may use it */
void writer_intern(
	struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text, size_t size);
int writer_intern_brick(struct writer_lane *lane, uint32_t brick);
int writer_intern_source(struct writer_lane *lane, uint32_t source);
int writer_intern_event(struct writer_lane *lane, uint32_t name);
int writer_intern_brick_value(struct writer_lane *lane, uint32_t brick);
int writer_intern_kernel(struct writer_lane *lane, uint32_t kernel);

/* writer_site.c: what all sites of the process are that the trace does not know yet */
int writer_describe_sites(struct trace_writer *w, struct writer_process *process);

/* writer_template.c: how slices of the lane end that say no more */
void template_end(struct writer_lane *lane);

/* writer_records.c: what a lane's records go to; count: not 0 */
extern const struct records_target writer_records;
int lane_records(struct writer_lane *lane, const struct brick_record *records, size_t count);

/* writer_off_cpu.c */
int lane_off_cpu(struct writer_lane *lane, const struct sink_off_cpu *intervals, size_t count);

/* writer.c */
static inline uint64_t writer_duration_ns(const struct writer_process *process, uint64_t ticks)
{
	return brick_clock_duration_ns(process->best, ticks);
}

static inline uint64_t writer_ns(const struct writer_process *process, uint64_t ticks)
{
	const struct brick_clock *clock = process->best;
	uint64_t delta = ticks - clock->base_ticks;

	if ((int64_t)delta < 0)
		return brick_clock_ns(clock, ticks);
	return clock->base_ns + brick_clock_duration_ns(clock, delta);
}

uint64_t writer_uuid(const struct trace_writer *w, uint64_t kind, uint64_t index);

/* writer_run.c: a field of a packet in the scratch */
void writer_clock_snapshot(struct trace_writer *w, uint64_t ns, int lane_clock);
