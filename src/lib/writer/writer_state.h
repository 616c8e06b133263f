/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole writer, for those of its files that say something of the run: they write events on its
 * own track. Those that write what lanes say see no more than writer_lane.h.
 */
#pragma once

#include "base/members.h"
#include "lib/writer/writer.h"
#include "lib/writer/writer_lane.h"

/* Numbers that stand for what sites are, in the whole trace (writer_site.c). */
struct site_numbering {
	uint32_t descriptions, operations; /* so far */
	uint32_t sites;			   /* in a plain file */
	uint32_t of_layer[WRITER_LAYERS];  /* in a compressed one */
};

struct trace_writer {
	struct sink sink; /* first: writer_of() */
	struct packets packets;
	int64_t boot_offset_ns, unix_offset_ns; /* to add to CLOCK_MONOTONIC */
	uint64_t uuid_seed;
	uint64_t start_ns,
		last_ns; /* last: newest time seen, for events without one of their own */
	struct brick_clock clock;

	size_t event_packet, event_body; /* the instant that is open in the scratch */
	uint64_t event_ns;		 /* of the last one */
	uint8_t event_nesting[8];	 /* 1: a dictionary, 2: an array */
	uint32_t event_depth;
	uint64_t bad_records;
	struct site_numbering sites;

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

/* What the writer does as a sink: writer.c, writer_run.c, writer_digest.c and others */
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

/* writer_event.c: instants on the run's own track */
void event_open(struct trace_writer *w, const char *name, uint64_t ns);
int event_close(struct trace_writer *w);
void event_uint(struct trace_writer *w, const char *name, uint64_t value);
/* Members of what `from` points to, each under its own name. */
#define event_uints(w, from, ...)                       \
	do {                                            \
		EACH(EVENT__UINT, w, from, __VA_ARGS__) \
	} while (0)
#define EVENT__UINT(w, from, m) event_uint(w, #m, (from)->m);
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

/* writer.c: write what is held back, of a lane or of all */
void writer_release(struct trace_writer *w, struct writer_lane *lane);
void writer_release_all(struct trace_writer *w, const struct writer_process *process);
/* What the lanes have written: begin/end pairs, and those of them that were open at the end. */
void writer_totals(const struct trace_writer *w, uint64_t *pairs, uint64_t *open_frames);
