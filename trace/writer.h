/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a recording: records of sessions in, a Perfetto trace out (docs/FORMAT.md). Knows the
 * session's layouts (include/brick/abi/session.h) but not where they are mapped: the caller
 * (record/) hands in tables and records that it has checked. Depends on libc only, runs inside
 * other people's processes when embedded: never exits, prints or leaks. One thread at a time.
 *
 * The file grows as PATH.part and is renamed to PATH by trace_writer_finish(). After any error the
 * writer stays in an error state in which every call returns that first error and does nothing.
 */
#ifndef BRICK_TRACE_WRITER_H
#define BRICK_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include "trace/sink.h"

struct trace_writer;

struct trace_writer_options {
	const char *path;	    /* final name; NULL with an output */
	uint64_t start_unix_ns;	    /* of the run */
	uint64_t start_ns;	    /* CLOCK_MONOTONIC */
	const char *const *command; /* argv of the recorded command, NULL-terminated, or NULL */
	const char *host;
	const char *cpu; /* model name of the CPU, or NULL */
	int compress;	 /* 0: plain packets */
	/* Takes the bytes instead of a file; returns 0 or a negative code. NULL: there is a file.
	 */
	int (*output)(void *context, const void *data, size_t bytes);
	void *output_context;
};

/* What part_file_open() says of PATH, or -ENOMEM; *out untouched. */
int trace_writer_create(struct trace_writer **out, const struct trace_writer_options *options);

/* What records and tables go into, until the writer is finished or abandoned. */
struct sink *trace_writer_sink(struct trace_writer *w);

static inline int trace_writer_clock(struct trace_writer *w, const struct brick_clock *clock)
{
	return sink_clock(trace_writer_sink(w), clock);
}

static inline int trace_writer_process(
	struct trace_writer *w, const struct brick_session_header *header)
{
	return sink_process(trace_writer_sink(w), header);
}

static inline int trace_writer_process_state(
	struct trace_writer *w, int process, const struct brick_session_header *header)
{
	return sink_process_state(trace_writer_sink(w), process, header);
}

static inline int trace_writer_tables(
	struct trace_writer *w, int process, const struct sink_tables *tables)
{
	return sink_tables(trace_writer_sink(w), process, tables);
}

static inline int trace_writer_code(struct trace_writer *w, const struct sink_code *code)
{
	return sink_code(trace_writer_sink(w), code);
}

static inline int trace_writer_lane(
	struct trace_writer *w, int process, const struct brick_lane *lane)
{
	return sink_lane(trace_writer_sink(w), process, lane);
}

static inline int trace_writer_records(
	struct trace_writer *w, int lane, const struct brick_record *records, size_t count)
{
	return sink_records(trace_writer_sink(w), lane, records, count);
}

static inline int trace_writer_lane_stats(
	struct trace_writer *w, int lane, const struct brick_lane *state)
{
	return sink_lane_stats(trace_writer_sink(w), lane, state);
}

static inline int trace_writer_histograms(struct trace_writer *w, int process, uint32_t brick_count,
	const uint64_t *const *histograms)
{
	return sink_histograms(trace_writer_sink(w), process, brick_count, histograms);
}

static inline int trace_writer_notes(
	struct trace_writer *w, int process, const char *notes, size_t bytes)
{
	return sink_notes(trace_writer_sink(w), process, notes, bytes);
}

static inline int trace_writer_digest(
	struct trace_writer *w, int process, const struct brick_session_digest *digest)
{
	return sink_digest(trace_writer_sink(w), process, digest);
}

static inline int trace_writer_account(struct trace_writer *w, const struct sink_account *account)
{
	return sink_account(trace_writer_sink(w), account);
}

static inline int trace_writer_process_end(
	struct trace_writer *w, int process, uint64_t end_ticks, int closed)
{
	return sink_process_end(trace_writer_sink(w), process, end_ticks, closed);
}

static inline int trace_writer_flush(struct trace_writer *w)
{
	return sink_flush(trace_writer_sink(w));
}

/* Bytes written, and begin/end pairs in them. */
void trace_writer_counts(const struct trace_writer *w, uint64_t *bytes, uint64_t *pairs);

/* Complete the file, give it its final name, free w. On error PATH.part is left, as below. */
int trace_writer_finish(struct trace_writer *w);

/* Give up: leave what was written until now as PATH.part, or remove it. Free w; NULL is legal. */
void trace_writer_leave(struct trace_writer *w);
void trace_writer_abandon(struct trace_writer *w);

#endif
