/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops that ceilings are measured with, by instruction set. Each file kernels_*.c defines both
 * tables for one architecture; the build takes one of them. A kernel may only be run if its
 * available() returns true. Kernels have more independent chains than latency x throughput of any
 * known CPU, and return a value so that the compiler leaves nothing out. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arithmetic on registers. A multiply-add counts as two operations. */
struct machine_compute {
	const char *isa, *type;		/* "AVX2", "f32" */
	unsigned ops_per_round;		/* operations of one round */
	bool (*available)(void);	/* this CPU has it, and the system lets it be used */
	double (*run)(uint64_t rounds); /* at least 1 */
};

enum machine_stream_kind { STREAM_READ, STREAM_COPY, STREAM_TRIAD };
enum {
	STREAM_KINDS = 3,
	STREAM_ARRAYS = 3,  /* that a kind needs at most */
	STREAM_STEP = 1024, /* bytes: arrays are a multiple of this */
};

/*
 * Moving memory: arrays[] of `bytes` each, a multiple of STREAM_STEP, aligned to 64, `passes`
 * times. read: a is read; copy: a = b; triad: a = b + s * c, in f32. Bytes read and written count
 * once each (what a cache fetches before it is written to does not).
 */
struct machine_stream {
	const char *isa;
	enum machine_stream_kind kind;
	bool (*available)(void);
	void (*run)(float *const arrays[STREAM_ARRAYS], size_t bytes, uint64_t passes);
};

/* End at the first entry without a function. */
extern const struct machine_compute machine_computes[];
extern const struct machine_stream machine_streams[];

/* Lets the core rest, in a loop in which a thread waits for another one. */
void machine_relax(void);

/* "read", "copy" or "triad". */
static inline const char *machine_stream_name(enum machine_stream_kind kind)
{
	return kind == STREAM_READ ? "read" : kind == STREAM_COPY ? "copy" : "triad";
}

/* The number of arrays that the kind uses. */
static inline unsigned machine_stream_arrays(enum machine_stream_kind kind)
{
	return kind == STREAM_READ ? 1 : kind == STREAM_COPY ? 2 : 3;
}
