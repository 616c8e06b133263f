/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one result may differ by: limits by what it was computed from, and what different formats
 * explain. docs/DIVERGENCE.md says where the numbers come from. Pure; any thread.
 */
#pragma once

#include <stdint.h>
#include "brick/digest.h"

/* NMSE that a result may have, by what it was computed from. */
#define DIVERGE_LIMIT_F32 1e-7
#define DIVERGE_LIMIT_QUANTIZED 5e-4
#define DIVERGE_UNIT_F16 0x1p-11 /* unit roundoffs; limits are 4 of their squares */
#define DIVERGE_UNIT_BF16 0x1p-8
#define DIVERGE_GROWTH 4     /* what one result may make of an error^2 that was allowed */
#define DIVERGE_ATTENTION 32 /* ... and so many of attention over a 16-bit cache */

/* How an error differs from that of rounding, which is spread over all directions. */
enum diverge_shape {
	DIVERGE_LIKE_ROUNDING,
	DIVERGE_SCALED, /* much of it makes the whole result longer or shorter */
	DIVERGE_FEW,	/* much of it is in a few elements */
};

/* NMSE that a result may have when both runs have the same formats, before depth. */
double diverge_limit(const char *brick, const struct brick_digest *x, const struct brick_digest *y);

/* Whether one run or both had quantised weights for it. */
int diverge_quantised(const struct brick_digest *x, const struct brick_digest *y);

/*
 * NMSE that comes in here because the two runs hold their numbers in different formats. `coarse` is
 * what quantised weights bring in, in these runs; `any` says that both runs' may be quantised, and
 * differently. Values that differ already are rounded apart once more where both runs round.
 */
double diverge_formats(const char *brick, const struct brick_digest *x,
	const struct brick_digest *y, double inherited, double coarse, int any);

/* What of a (finite) error lies along x, up or down: by so much y is longer or shorter. */
double diverge_along(const struct brick_digest *x, const struct brick_digest *y, double error);

/*
 * The shape of an error; `along` is what of it inputs brought along already. Like rounding if the
 * result has few elements, or lies in a few of them, as scores of attention do.
 */
enum diverge_shape diverge_shape(const char *brick, const struct brick_digest *x,
	const struct brick_digest *y, double error, double along);
