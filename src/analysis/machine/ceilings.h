/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings: the best rates that a machine reached, by instruction set, type, level of memory and
 * number of threads, with the date and the CPU. All are measured; none is from a datasheet. sweep.h
 * measures them, ceilings_file.h stores them: a new member goes into its JSON, too. A figure has
 * the best of its repetitions and how far the others were from it. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/scope.h"

enum {
	CEILINGS_NAME = 32,	  /* bytes of a name */
	CEILINGS_ROWS = 4096,	  /* of each kind, at most */
	CEILINGS_THREADS = 65536, /* in a row, at most */
};

/* Repeated measurements: the best rate is the greatest, the best latency the smallest. */
struct ceilings_figure {
	double best, median, worst;
	uint32_t count; /* of repetitions */
	double second;	/* the best repetition but one; 0: not known */
};

/* Operations per ns: GFLOP/s, and for i8 GOP/s. A multiply-add is two. */
struct ceilings_compute {
	char isa[CEILINGS_NAME], type[CEILINGS_NAME];
	uint32_t threads;
	struct ceilings_figure rate;
};

/* Bytes per ns: GB/s. */
struct ceilings_bandwidth {
	char level[CEILINGS_NAME];  /* "L1", "L2", ..., "memory" */
	char kernel[CEILINGS_NAME]; /* "read", "copy", "triad" */
	char isa[CEILINGS_NAME];
	uint32_t threads;
	uint64_t bytes; /* of the working set of all threads together */
	struct ceilings_figure rate;
};

struct ceilings_latency {
	char backend[CEILINGS_NAME]; /* "threads"; of a device "kernel" */
	char what[CEILINGS_NAME];    /* "barrier"; of a device "kernel": one that does nothing */
	uint32_t threads;
	struct ceilings_figure ns;
};

struct ceilings_level {
	char name[CEILINGS_NAME];
	uint64_t bytes;	 /* of one, as the CPU tells it; 0: memory, or nobody knows */
	uint32_t shared; /* number of CPUs that share one */
};

/*
 * The largest working set of so many threads together that a cache was seen to hold: beyond it
 * bandwidth falls to that of the next level. A virtual machine may use a part of its cache only.
 */
struct ceilings_usable {
	char level[CEILINGS_NAME];
	uint32_t threads;
	uint64_t bytes;
};

/* A rate that a recording reached above all measured ones: so it is a ceiling, too. */
struct ceilings_reached {
	char level[CEILINGS_NAME]; /* of memory, or the type of arithmetic */
	char brick[64], recording[256];
	uint32_t threads;
	uint64_t bytes;		     /* reuse distance of the data that it read; 0: arithmetic */
	uint64_t unix_ns;	     /* begin of the recording */
	struct ceilings_figure rate; /* a single measurement */
};

/* A thing that could not be measured, and why. */
struct ceilings_missing {
	char what[CEILINGS_NAME];
	char reason[160];
};

struct ceilings {
	char host[64], cpu[128], microcode[32];
	uint64_t unix_ns;      /* time of the measurement */
	uint64_t took_ns;      /* duration of the measurement */
	uint32_t cpus;	       /* online */
	uint32_t most_threads; /* that were measured */
	bool quick;	       /* sweep_options.quick */

	struct ceilings_level *levels; /* nearest first, memory last */
	size_t level_count;
	struct ceilings_compute *compute;
	size_t compute_count;
	struct ceilings_bandwidth *bandwidth;
	size_t bandwidth_count;
	struct ceilings_latency *latency;
	size_t latency_count;
	struct ceilings_usable *usable;
	size_t usable_count;
	struct ceilings_reached
		*reached; /* at most one for each level or type and number of threads */
	size_t reached_count;
	/*
	 * The best products with weights that recordings had, at most one for each kind and number
	 * of threads: `level` is the kind (type, columns, size, level of memory), bytes 0
	 */
	struct ceilings_reached *products;
	size_t product_count;
	struct ceilings_missing *missing;
	size_t missing_count;
	struct ceilings_device *devices;
	size_t device_count;
};

/*
 * The ceilings of a device. `can` holds levels ("cache", "memory"), compute, bandwidth and latency
 * ("kernel": one that does nothing), all as if of one thread. Arithmetic is that of kernels in f32;
 * units for matrices are not measured.
 */
struct ceilings_device {
	char backend[CEILINGS_NAME], name[128];
	struct ceilings can;
};

/* Why ceilings do not apply to a recording. */
enum ceilings_doubt {
	CEILINGS_TRUSTED,
	CEILINGS_OTHER_CPU, /* than that of the recording */
	CEILINGS_OTHER_HOST,
	CEILINGS_OTHER_CPUS, /* another number of them */
	CEILINGS_NOISY,	     /* the machine was busy when they were measured */
};

/* Makes a figure of `count` values, which it sorts. smallest_is_best: true for latencies. */
struct ceilings_figure ceilings_figure_of(double *values, uint32_t count, bool smallest_is_best);

/* The distance of the median from the best, as a share of the best; 0 and more. */
double ceilings_spread(const struct ceilings_figure *figure);

/* The time that a sweep should take; on a busy machine its first pass alone can take longer. */
static inline uint64_t ceilings_budget_ns(bool quick)
{
	return (quick ? 3u : 12u) * UINT64_C(1000000000);
}

/* The time that each device should take in addition. */
static inline uint64_t ceilings_device_budget_ns(bool quick)
{
	return (quick ? 800u : 1800u) * UINT64_C(1000000);
}

/* True if more than a quarter of the figures are wide: the machine was busy with other things. */
bool ceilings_noisy(const struct ceilings *ceilings);

/*
 * The number of threads whose rows are used for `threads`: the same number if it was measured, or
 * the next larger one, or else the largest. 0: nothing was measured.
 */
uint32_t ceilings_threads_for(const struct ceilings *ceilings, uint32_t threads);

/*
 * The row with the best figure for exactly `threads` threads; NULL: there is none. type, level
 * NULL: any. With a level, only working sets count that are well above the size of the level before
 * it.
 */
const struct ceilings_compute *ceilings_peak(
	const struct ceilings *ceilings, const char *type, uint32_t threads);
const struct ceilings_bandwidth *ceilings_fastest(
	const struct ceilings *ceilings, const char *level, uint32_t threads);
const struct ceilings_bandwidth *ceilings_fastest_of(
	const struct ceilings *ceilings, const char *level, const char *kernel, uint32_t threads);
const struct ceilings_latency *ceilings_latency_of(
	const struct ceilings *ceilings, const char *backend, const char *what, uint32_t threads);

/*
 * Fills in `usable`, the bytes of each cache that each number of threads can use, and the levels of
 * all rows of `bandwidth`. Call it when all of these are there. 0 or -ENOMEM.
 */
int ceilings_find_levels(struct ceilings *ceilings);

/* The largest working set that a level (an index in levels) holds for so many threads; 0: none. */
uint64_t ceilings_usable_bytes(const struct ceilings *ceilings, size_t level, uint32_t threads);

/*
 * The bytes of a cache that so many threads could use, each on a CPU of its own, by the size that
 * the CPU tells.
 */
uint64_t ceilings_told_bytes(const struct ceilings_level *level, uint32_t threads);

/*
 * Merges an older measurement of the same machine: each row keeps its better figure, and rows that
 * only `older` has are added, but no devices. 0 or -ENOMEM.
 */
int ceilings_keep_best(struct ceilings *ceilings, const struct ceilings *older);

/*
 * The level that holds a working set of all threads together: an index in levels; level_count: none
 * is known.
 */
size_t ceilings_level_of(const struct ceilings *ceilings, uint32_t threads, uint64_t bytes);

/*
 * The most bytes per ns that were measured or reached with working sets of `bytes` or more, or with
 * the largest ones if all are smaller. *figure: the measured one; NULL: none was.
 */
double ceilings_bandwidth_at(const struct ceilings *ceilings, uint32_t threads, uint64_t bytes,
	const struct ceilings_figure **figure);

/* The most operations per ns of the type of `peak`: measured, or reached by a run. */
double ceilings_peak_at(const struct ceilings *ceilings, const struct ceilings_compute *peak);

/* True if a figure says little: no second repetition came within 15 % of its best. */
bool ceilings_is_wide(const struct ceilings_figure *figure);

/*
 * Adds a rate that a recording reached, if it is above the one for that level and number of
 * threads. *added: it was. 0 or -ENOMEM.
 */
int ceilings_reach(struct ceilings *ceilings, const struct ceilings_reached *reached, bool *added);
/* The same for the rate of a product with weights. */
int ceilings_reach_product(
	struct ceilings *ceilings, const struct ceilings_reached *product, bool *added);

/* The best rate of a kind of product for so many threads; NULL: none was seen. */
const struct ceilings_reached *ceilings_product_of(
	const struct ceilings *ceilings, const char *kind, uint32_t threads);

/* The device of that name, of that backend if there are several; NULL: it was not measured. */
const struct ceilings_device *ceilings_device_of(
	const struct ceilings *ceilings, const char *backend, const char *name);

/* NULL is legal. */
void ceilings_destroy(struct ceilings *ceilings);
SCOPE_OF(ceilings_destroy, struct ceilings)
