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
#include "brick/abi/session.h"
#include "brick/clock.h"

struct trace_writer;

struct trace_writer_options {
	const char *path;	    /* final name; NULL with a sink */
	uint64_t start_unix_ns;	    /* of the run */
	uint64_t start_ns;	    /* CLOCK_MONOTONIC */
	const char *const *command; /* argv of the recorded command, NULL-terminated, or NULL */
	const char *host;
	const char *cpu; /* model name of the CPU, or NULL */
	int compress;	 /* 0: plain packets */
	/* Takes the bytes instead of a file; returns 0 or a negative code. NULL: there is a file.
	 */
	int (*sink)(void *context, const void *data, size_t bytes);
	void *sink_context;
};

/* -errno: PATH.part cannot be created; *out untouched. */
int trace_writer_create(struct trace_writer **out, const struct trace_writer_options *options);

/* The map from ticks to CLOCK_MONOTONIC ns of all records that follow. Writes a clock snapshot. */
int trace_writer_clock(struct trace_writer *w, const struct brick_clock *clock);

/* A process joins; returns its number (>= 0). header: its session's, copied as needed. */
int trace_writer_process(struct trace_writer *w, const struct brick_session_header *header);

/*
 * The header as it stands now (ledger, costs); later calls replace earlier ones. Optional: a
 * process whose ledger never changed needs none.
 */
int trace_writer_process_state(
	struct trace_writer *w, int process, const struct brick_session_header *header);

/*
 * What the session's tables hold now; call it before records that may use new entries. Entries are
 * append-only, so only those beyond the counts of the last call are looked at.
 */
struct trace_tables {
	const struct brick_session_brick *bricks;
	uint32_t brick_count;
	const struct brick_session_category *categories;
	uint32_t category_count;
	const struct brick_session_site *sites;
	uint32_t site_count;
	const struct brick_session_kernel *kernels;
	uint32_t kernel_count;
};
int trace_writer_tables(struct trace_writer *w, int process, const struct trace_tables *tables);

/* The source of a program that kernels were made from; texts need no NUL at their end. */
struct trace_code {
	uint64_t hash;
	const char *name, *path, *source;
	size_t name_bytes, path_bytes, source_bytes;
	int cut; /* the source is not all there is */
};
int trace_writer_code(struct trace_writer *w, const struct trace_code *code);

/* A thread or queue of a process joins; returns its number (>= 0), unique over the file. */
int trace_writer_lane(struct trace_writer *w, int process, const struct brick_lane *lane);

/*
 * Records of a lane, in ring order. Records that break the rules of the ring are counted, not
 * written. A slice about which the next call may say more is held back until then, or until the
 * next flush.
 */
int trace_writer_records(
	struct trace_writer *w, int lane, const struct brick_record *records, size_t count);

/*
 * Exact statistics as they stand now (later calls replace earlier ones): of one lane, and the
 * histograms of a process (uint32_t[brick_count][BRICK_HISTOGRAM_BUCKETS], all lanes merged).
 * A histogram pointer for a brick may be NULL: then it has none. A lane's take about 100 bytes per
 * brick that ran: once a second or so costs nothing that shows, and leaves exact numbers in a file
 * whose writer is killed.
 */
int trace_writer_lane_stats(struct trace_writer *w, int lane, const struct brick_lane *state);
int trace_writer_histograms(struct trace_writer *w, int process, uint32_t brick_count,
	const uint64_t *const *histograms);

/* Notes of a session ("key=value\n" lines), whole; later calls replace earlier ones. */
int trace_writer_notes(struct trace_writer *w, int process, const char *notes, size_t bytes);

/* The digest of one result; its brick must be in the tables. */
int trace_writer_digest(
	struct trace_writer *w, int process, const struct brick_session_digest *digest);

/* What the consumer itself lost or spent; later calls replace earlier ones. */
struct trace_account {
	uint64_t end_ns;	  /* CLOCK_MONOTONIC: up to when the recording is complete */
	uint64_t consumer_cpu_ns; /* CPU time that recording took outside of the program */
	uint64_t program_cpu_ns;  /* CPU time of the program and its children */
	uint64_t lost_processes;  /* processes whose session could not be read */
	uint32_t cpus;		  /* online */
	int32_t exit_code;	  /* as the shell sees it; -1: not known (yet) */
	uint32_t clock_residual_ns;
};
int trace_writer_account(struct trace_writer *w, const struct trace_account *account);

/* Session ended: closed in good order (1) or found dead (0). Open frames are written as such. */
int trace_writer_process_end(struct trace_writer *w, int process, uint64_t end_ticks, int closed);

/* Push everything handed in so far to the file, so that a reader of the file sees it. */
int trace_writer_flush(struct trace_writer *w);

/* Bytes written, and begin/end pairs in them. */
void trace_writer_counts(const struct trace_writer *w, uint64_t *bytes, uint64_t *pairs);

/* Complete the file, give it its final name, free w. On error the .part file is removed. */
int trace_writer_finish(struct trace_writer *w);

/* Give up: remove the .part file, free w. NULL is legal. */
void trace_writer_abandon(struct trace_writer *w);

#endif
