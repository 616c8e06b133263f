/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the digests of two runs: pairs the results of the same place in the same model, and
 * measures how far apart they are, and how much of that came with the inputs. Errors are relative:
 * |x - y| / |x|, where x is A's result and y is B's, estimated from the sketches; their squares are
 * called NMSE. docs/DIVERGENCE.md says how places are aligned and where limits come from. Pure; any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

/* NMSE that a result may have, by the types of its inputs. */
#define DIVERGE_LIMIT_F32 1e-7
#define DIVERGE_LIMIT_QUANTIZED 5e-4
#define DIVERGE_UNIT_F16 0x1p-11 /* unit roundoffs; limits are 4 of their squares */
#define DIVERGE_UNIT_BF16 0x1p-8
#define DIVERGE_GROWTH 4     /* the most that one result may make of an error^2 that was allowed */
#define DIVERGE_ATTENTION 32 /* ... and so many of attention over a 16-bit cache */

/* How an error differs from rounding, which is spread over all directions. */
enum diverge_shape {
	DIVERGE_LIKE_ROUNDING,
	DIVERGE_SCALED, /* much of it makes the whole result longer or shorter */
	DIVERGE_FEW,	/* much of it is in a few elements */
};

struct diverge_options {
	double threshold;   /* NMSE for all; negative: by type and depth */
	bool allow_formats; /* an error that other formats explain is no divergence */
};

enum diverge_flags {
	DIVERGE_OVER = 1,      /* beyond its limit */
	DIVERGE_EXPLAINED = 2, /* ... but within the error that the two runs' formats explain */
	DIVERGE_SHAPES = 4,    /* as many elements in another shape */
	DIVERGE_INPUTS = 8,    /* `inherited` is of its inputs; else of the result before it */
};

/* Two results that were compared. */
struct diverge_place {
	uint32_t a, b; /* in run->digests */
	uint32_t flags;
	uint32_t from;	  /* place that most of the inherited error came from; RUN_NONE: none */
	double error;	  /* infinite: NaN or infinite values differ, or x is 0 */
	double inherited; /* at most error */
	double added;	  /* error^2 = inherited^2 + added^2 */
	double limit;	  /* of error^2 */
	double explained; /* error^2 that other formats explain here; 0: they are the same */
	enum diverge_shape shape; /* of an error that is no larger than that */
};

/* Results of one brick by how they were compared. */
struct diverge_brick {
	const char *name;
	uint32_t compared, only_a, only_b;
};

struct diverge {
	struct diverge_place *places; /* in A's order of execution */
	size_t place_count;
	uint32_t first;		  /* the first over its limit, RUN_NONE: none */
	uint32_t worst;		  /* of the largest error; RUN_NONE: nothing was compared */
	uint32_t over, explained; /* places */
	double hidden;	  /* error that formats would explain at the middle one of those places */
	uint32_t loosest; /* place where they would explain the most; RUN_NONE: they explain none */
	uint32_t digests_a, digests_b, others_a, others_b; /* others: of further processes */
	uint32_t steps_a, steps_b, steps_compared;
	uint32_t skipped_a, skipped_b; /* steps before the first that was compared */
	uint32_t unlike;	       /* steps that stand at the same place and are not alike */
	uint64_t apart_step; /* from here on they compute other tokens, not compared; 0: never */
	bool diverges; /* a place is over its limit, or tokens part where nothing explains it */
	uint32_t other_shapes; /* same place, another number of elements: not compared */
	struct diverge_brick *bricks;
	size_t brick_count;
};

/* -ENOMEM. BRICK_ENOTRECORDED: one of them holds no digests; *which: 0 or 1. */
int diverge_create(struct diverge **out, const struct run *a, const struct run *b,
	const struct diverge_options *options, int *which);
void diverge_destroy(struct diverge *d); /* NULL is legal */
