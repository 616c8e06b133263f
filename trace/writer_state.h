/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the writer share: its state, and the calls between them. Packets are laid into
 * one chunk of memory; a full chunk goes to the file at once, compressed. Nothing outside of
 * writer*.c includes this.
 */
#pragma once

#include "base/array.h"
#include "base/hashmap.h"
#include "trace/deflate.h"
#include "trace/format.h"
#include "trace/part_file.h"
#include "trace/pb_write.h"
#include "trace/records.h"
#include "trace/writer.h"

enum {
	CHUNK_BYTES = 256 << 10,       /* a chunk goes to the file when it holds that many */
	CHUNK_MARGIN_BYTES = 16 << 10, /* more than what one record can add */
	TEMPLATE_BYTES = 64,
	WRITER_LAYERS = 128, /* of which ids of sites tell */
	WRITER_PLACES = BRICK_MAX_SITES / WRITER_LAYERS,
};

/* Where what is behind a packet's timestamp was laid, by bytes from the first chunk on. */
typedef uint64_t packet_place;

/* The start of a slice, ready to copy: a packet from behind its timestamp on. */
struct packet_template {
	uint8_t bytes[TEMPLATE_BYTES];
	uint16_t length; /* of bytes; 0: not made yet */
	uint16_t brick;
	/* of a site: the site that its operation is interned for, its own id, and the site that has
	 * the same place in the layer before */
	uint16_t operation, site_iid, sibling;
	packet_place last;
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
	struct brick_clock
		clock; /* its own, used while nobody gave a better one of the same source */
	struct tables tables;
	uint64_t *counter_uuids; /* by brick; 0: no track yet */
	uint64_t flow_base;	 /* of the ids of its flows: add a command's number */
	uint64_t *arrows;	 /* [WRITER_ARROWS] numbers that have an arrow to who waited */
	int ended;
};

struct writer_lane {
	struct trace_writer *writer;
	struct writer_process *process;
	uint32_t number, process_number, sequence;
	uint32_t kind;
	uint64_t tid, uuid, start_ticks;
	uint64_t track_tid;	    /* the thread that its track is of */
	uint32_t tracks;	    /* so far: one for each owner */
	char name[64], backend[16]; /* name: of that thread, "" while not known */
	uint64_t queue_flags;
	int started; /* its sequence has its first packet */

	struct records_lane records;
	uint64_t last_ns; /* of its last packet: what the next timestamp is relative to */
	uint64_t open_ns[BRICK_MAX_DEPTH];
	uint64_t begin_ns; /* of the slice that began or ended last */
	uint64_t step_ns;  /* the same, if that is a step that has just ended; else 0 */

	uint64_t interned_bricks[BRICK_MAX_BRICKS / 64];
	uint64_t interned_categories;
	uint32_t interned_sources, interned_events;
	uint64_t interned_values[BRICK_MAX_BRICKS / 64]; /* bricks, as values */
	uint64_t interned_kernels[BRICK_MAX_KERNELS / 64];
	uint32_t operations[BRICK_MAX_BRICKS];	/* by brick: the site whose operation it had last */
	struct packet_template *site_templates; /* by site */
	uint32_t site_capacity;
	struct template_table plain;
	struct packet_template wait_begin;
	uint8_t end_tail[16]; /* of a slice's end without annotations, behind its timestamp */
	uint32_t end_tail_bytes;
	packet_place last_begin, last_end, last_wait_end, last_annotated_begin, last_annotated_end;
	uint16_t sites_of_layer[WRITER_LAYERS], site_of_place[WRITER_PLACES];
	uint64_t off_cpu_ns; /* of the last packet of its other track; 0: there is none yet */
	packet_place off_cpu_begin[2], off_cpu_end;
};

struct trace_writer {
	struct sink sink; /* first: writer_of() */
	int error;
	struct part_file *file;
	int (*output)(void *context, const void *data, size_t bytes); /* instead of the file */
	void *output_context;
	int compress;
	int64_t boot_offset_ns, unix_offset_ns; /* to add to CLOCK_MONOTONIC */
	uint64_t uuid_seed;
	uint64_t start_ns,
		last_ns; /* last: newest time seen, for events without one of their own */
	struct brick_clock clock;
	int have_clock;

	uint8_t *chunk; /* CHUNK_BYTES + CHUNK_MARGIN_BYTES */
	size_t chunk_size;
	uint64_t chunk_place;
	struct deflater *deflater;
	struct pb_buffer scratch, packed;
	size_t event_packet, event_body; /* the instant that is open in the scratch */
	uint64_t event_ns;		 /* of the last one */
	uint8_t event_nesting[8];	 /* 1: a dictionary, 2: an array */
	uint32_t event_depth;
	uint64_t bytes, pairs, bad_records, open_frames;

	struct writer_process **processes;
	uint32_t process_count;
	size_t process_capacity;
	struct writer_lane **lanes;
	uint32_t lane_count;
	size_t lane_capacity;
};

static inline struct trace_writer *writer_of(struct sink *sink)
{
	return (struct trace_writer *)sink;
}

/* What the writer does as a sink: writer.c, writer_records.c, writer_run.c, writer_digest.c */
int writer_sink_clock(struct sink *sink, const struct brick_clock *clock);
int writer_sink_process(struct sink *sink, const struct brick_session_header *header);
int writer_sink_process_state(
	struct sink *sink, int process, const struct brick_session_header *header);
int writer_sink_tables(struct sink *sink, int process, const struct sink_tables *tables);
int writer_sink_code(struct sink *sink, const struct sink_code *code);
int writer_sink_lane(struct sink *sink, int process, const struct brick_lane *lane);
int writer_sink_records(
	struct sink *sink, int lane, const struct brick_record *records, size_t count);
int writer_sink_off_cpu(
	struct sink *sink, int lane, const struct sink_off_cpu *intervals, size_t count);
int writer_sink_lane_stats(struct sink *sink, int lane, const struct brick_lane *state);
int writer_sink_histograms(
	struct sink *sink, int process, uint32_t brick_count, const uint64_t *const *histograms);
int writer_sink_notes(struct sink *sink, int process, const char *notes, size_t bytes);
int writer_sink_digest(struct sink *sink, int process, const struct brick_session_digest *digest);
int writer_sink_account(struct sink *sink, const struct sink_account *account);
int writer_sink_process_end(struct sink *sink, int process, uint64_t end_ticks, int closed);
int writer_sink_flush(struct sink *sink);

/* writer_file.c */
int writer_fail(struct trace_writer *w, int error);
int writer_chunk_out(struct trace_writer *w);
/* Append one packet, made in w->scratch by packet_open/close; empties the scratch. */
int writer_packet_out(struct trace_writer *w);
/* Give the file its name; after an error it is left as it is. */
int writer_finish(struct trace_writer *w);

/* writer_text.c: as JSON objects */
size_t writer_site_json(char *to, size_t capacity, const struct brick_session_site *site);
size_t writer_kernel_json(char *to, size_t capacity, const struct brick_session_kernel *kernel);

/* writer_track.c: what the packets of a lane are on */
void writer_clock_snapshot(struct trace_writer *w, uint64_t ns, int lane_clock);
int writer_lane_start(struct trace_writer *w, struct writer_lane *lane, uint64_t ns);
/* From here on the lane is another thread's: a track of its own, without a name yet. */
int writer_lane_owner(struct trace_writer *w, struct writer_lane *lane, uint64_t tid);
int writer_lane_name(struct trace_writer *w, struct writer_lane *lane, const char *name);
int writer_counter_track(struct trace_writer *w, struct writer_lane *lane, uint32_t brick);
/* Whether a counter tells of a whole step: its unit, enum perfetto_unit; 0: it does not. */
uint32_t writer_step_counter(const struct writer_process *process, uint32_t brick);

/* writer_names.c: what must be said before a packet may use it */
void writer_intern(
	struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text, size_t size);
int writer_intern_brick(struct trace_writer *w, struct writer_lane *lane, uint32_t brick);
int writer_intern_site(
	struct trace_writer *w, struct writer_lane *lane, uint32_t site, uint32_t iid);
int writer_intern_source(struct trace_writer *w, struct writer_lane *lane, uint32_t source);
int writer_intern_event(struct trace_writer *w, struct writer_lane *lane, uint32_t name);
int writer_intern_brick_value(struct trace_writer *w, struct writer_lane *lane, uint32_t brick);
int writer_intern_kernel(struct trace_writer *w, struct writer_lane *lane, uint32_t kernel);

/* writer_template.c: how slices of the lane end that say no more */
void template_end(struct writer_lane *lane);

/* writer_event.c: instants on the run's own track */
void event_open(struct trace_writer *w, const char *name, uint64_t ns);
int event_close(struct trace_writer *w);
void event_uint(struct trace_writer *w, const char *name, uint64_t value);
void event_int(struct trace_writer *w, const char *name, int64_t value);
void event_text(struct trace_writer *w, const char *name, const char *text, size_t bytes);
/* Text of another process as a field: up to its first NUL, at most bytes. */
void writer_text(struct pb_buffer *b, uint32_t field, const char *text, size_t bytes);
size_t event_dict(struct trace_writer *w, const char *name);
size_t event_array(struct trace_writer *w, const char *name);
void event_end_nested(struct trace_writer *w, size_t opened);

/* writer_run.c: what the run says of itself */
int writer_run(struct trace_writer *w, const struct trace_writer_options *options);
int writer_clock(struct trace_writer *w);
int writer_end(struct trace_writer *w);

/* writer_process.c: what it says of processes and lanes; dictionaries of an event */
int writer_process(struct trace_writer *w, int number, const struct brick_session_header *header);
int writer_lane_event(struct trace_writer *w, const struct writer_lane *lane);
void event_clock(struct trace_writer *w, const struct brick_clock *clock);
void event_ledger(struct trace_writer *w, const struct brick_ledger *ledger);

/* writer_records.c: what a lane's records go to; and write what is held back, of a lane or of all
 */
extern const struct records_target writer_records;
void writer_release(struct trace_writer *w, struct writer_lane *lane);
void writer_release_all(struct trace_writer *w, const struct writer_process *process);

/* writer.c */
uint64_t writer_ns(
	const struct trace_writer *w, const struct writer_process *process, uint64_t ticks);
uint64_t writer_duration_ns(
	const struct trace_writer *w, const struct writer_process *process, uint64_t ticks);
uint64_t writer_uuid(const struct trace_writer *w, uint64_t kind, uint64_t index);
