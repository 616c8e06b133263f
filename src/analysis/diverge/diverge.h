/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the digests of two runs, A and B: pairs the results of the same place in the same model,
 * and measures how far apart they are, and how much of that came with the inputs. An error is
 * |x - y| / |x|, where x is A's result and y is B's, estimated from the sketches; its square is
 * called NMSE. Mind which of the two a member holds. docs/DIVERGENCE.md says how places are aligned
 * and where limits come from. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

/* NMSE that a result may have, by the types of its inputs. */
#define DIVERGE_LIMIT_F32 1e-7
#define DIVERGE_LIMIT_QUANTIZED 5e-4
#define DIVERGE_UNIT_F16                                                         \
	0x1p-11 /* unit roundoffs; the limit of a type is 4 times its square ... \
		 */
#define DIVERGE_UNIT_BF16 0x1p-8
#define DIVERGE_ATTENTION 32 /* ... and for attention so many times the square of f16's */
#define DIVERGE_GROWTH 4     /* by which one result may multiply an error^2 that was allowed */

/* How an error differs from rounding, which is spread over all directions. */
enum diverge_shape {
	DIVERGE_LIKE_ROUNDING,
	DIVERGE_SCALED, /* much of it makes the whole result longer or shorter */
	DIVERGE_FEW,	/* much of it is in a few elements */
};

struct diverge_options {
	double threshold; /* NMSE that all results may have; negative: a limit by type and depth */
	bool allow_formats; /* an error that other formats explain is no divergence */
};

enum diverge_flags {
	DIVERGE_OVER = 1, /* error^2 is above `limit`, and with allow_formats nothing explains it */
	DIVERGE_EXPLAINED =
		2, /* error^2 is above `limit`, and the difference of formats explains it */
	DIVERGE_SHAPES = 4, /* the results have equally many elements in different shapes */
	DIVERGE_INPUTS = 8, /* `inherited` is that of the inputs; else of the result before it */
};

/* Two results that were compared. */
struct diverge_place {
	uint32_t a, b;	/* indices in the digests of run A and of run B */
	uint32_t flags; /* enum diverge_flags */
	uint32_t from;	/* index of the place that most of the inherited error came from; RUN_NONE:
			   none */
	double error;	/* infinite: NaN or infinite values differ, or x is 0 */
	double inherited; /* error that came with the inputs; at most `error` */
	double added;	  /* error that this result added: error^2 = inherited^2 + added^2 */
	double limit;	  /* of error^2 */
	double explained; /* error^2 that the difference of formats explains; 0: formats are the
			     same */
	enum diverge_shape shape; /* valid if error^2 is above `limit` and at most `explained` */
};

/* How many results of a brick were compared, and how many only one run has. */
struct diverge_brick {
	const char *name;
	uint32_t compared, only_a, only_b;
};

struct diverge {
	struct diverge_place *places; /* in A's order of execution */
	size_t place_count;
	uint32_t first; /* the first place over its limit; RUN_NONE: none */
	uint32_t worst; /* the place of the largest error; RUN_NONE: nothing was compared */
	uint32_t over, explained; /* numbers of places with DIVERGE_OVER, DIVERGE_EXPLAINED */
	double hidden;	  /* median over explained places: the error that formats would explain; 0:
			     none */
	uint32_t loosest; /* the explained place where formats would explain the most; RUN_NONE:
			     none */
	uint32_t digests_a, digests_b; /* of the process with most digests of each run */
	uint32_t others_a, others_b;   /* digests of other processes, which are not compared */
	uint32_t steps_a, steps_b, steps_compared;
	uint32_t skipped_a, skipped_b; /* steps before the first that was compared */
	uint32_t unlike;     /* pairs of steps with different phases or numbers of tokens */
	uint64_t apart_step; /* from this step on the runs have different tokens; 0: never */
	bool diverges; /* a place is over its limit, or tokens part where nothing explains it */
	uint32_t other_shapes; /* pairs with different numbers of elements, not compared */
	struct diverge_brick *bricks;
	size_t brick_count;
};

/* 0, -ENOMEM, or BRICK_ENOTRECORDED: a run holds no digests; *which: 0 (A) or 1 (B). */
int diverge_create(struct diverge **out, const struct run *a, const struct run *b,
	const struct diverge_options *options, int *which);
void diverge_destroy(struct diverge *d); /* NULL is legal */
