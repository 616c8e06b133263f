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
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "lib/writer/sink.h"

struct trace_writer;

struct trace_writer_options {
	const char *path;	    /* final name; NULL with an output */
	uint64_t start_unix_ns;	    /* of the run */
	uint64_t start_ns;	    /* CLOCK_MONOTONIC */
	const char *const *command; /* argv of the recorded command, NULL-terminated, or NULL */
	const char *host;
	const char *cpu;   /* model name of the CPU, or NULL */
	const char *isa;   /* its vector instructions, brick_cpu_isa(), or NULL */
	uint32_t recorder; /* pid of `brick record`; 0: the program writes the file itself */
	const char *ring;  /* file_ring.id of the ring that the file is a part of, or NULL */
	int compress;	   /* 0: plain packets */
	/* Takes the bytes instead of a file; returns 0 or a negative code. NULL: there is a file.
	 */
	int (*output)(void *context, const void *data, size_t bytes);
	void *output_context;
};

/*
 * Makes a writer, whose path and texts are used during the call only. 0. After an error (as of
 * part_file_open(), or -ENOMEM) *out is untouched.
 */
int trace_writer_create(struct trace_writer **out, const struct trace_writer_options *options);

/* An output that keeps nothing. */
int trace_writer_nowhere(void *context, const void *data, size_t bytes);

/* Whole packets that the caller made, of a sequence of its own; 128 KiB at most. */
int trace_writer_packets(struct trace_writer *w, const void *packets, size_t bytes);

/* Gets the bytes written so far, and the begin/end pairs in them. */
void trace_writer_counts(const struct trace_writer *w, uint64_t *bytes, uint64_t *pairs);

/* Completes the file, gives it its final name, and frees w. After an error PATH.part is left. */
int trace_writer_finish(struct trace_writer *w);

/* Starts the thread that waits for the disk, scheduled as the caller: part_file_sync_prepare(). */
void trace_writer_sync_prepare(struct trace_writer *w);

/* Give up: leave what was written until now as PATH.part, or remove it. Free w; NULL is legal. */
void trace_writer_leave(struct trace_writer *w);
void trace_writer_abandon(struct trace_writer *w);
