/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits (diverge_limits.h). Rounding is told from mistakes by its size and by its having no
 * direction: of what is rounded in hundreds of places little lies along the result itself, and
 * little in one of the sketch's sums.
 */
#include "analysis/diverge/diverge_limits.h"

#include <math.h>
#include <string.h>

/* The share of a squared error that rounding puts into one direction at most; more only where the
 * result itself has so many times that share in one place. */
#define DIRECTED 0.25
#define DIRECTED_AS_RESULT 3

static double square(double x)
{
	return x * x;
}

static double unit_of(uint32_t dtype)
{
	return dtype == BRICK_DTYPE_F16	   ? DIVERGE_UNIT_F16
	       : dtype == BRICK_DTYPE_BF16 ? DIVERGE_UNIT_BF16
					   : 0;
}

/*
 * What 16-bit values come to. Attention sums up over all positions of a text, which some engines
 * keep in 16 bits, too: what is rounded away grows with their number.
 */
static double half(const char *brick)
{
	int attention = !strcmp(brick, "FlashAttention") || !strcmp(brick, "AttentionOutput") ||
			!strcmp(brick, "AttentionScore") || !strcmp(brick, "AttentionSoftmax");

	return (attention ? DIVERGE_ATTENTION : 4) * square(DIVERGE_UNIT_F16);
}

double diverge_limit(const char *brick, const struct brick_digest *x, const struct brick_digest *y)
{
	uint32_t flags = x->flags & y->flags;
	double unit = fmax(unit_of(x->dtype), unit_of(y->dtype));

	if (flags & BRICK_TENSOR_QUANTIZED)
		return DIVERGE_LIMIT_QUANTIZED;
	return fmax(flags & BRICK_TENSOR_HALF ? half(brick) : DIVERGE_LIMIT_F32, 4 * square(unit));
}

int diverge_quantised(const struct brick_digest *x, const struct brick_digest *y)
{
	return ((x->flags | y->flags) & BRICK_TENSOR_QUANTIZED) != 0;
}

double diverge_formats(const char *brick, const struct brick_digest *x,
	const struct brick_digest *y, double inherited, double coarse, int any)
{
	uint32_t differ = x->flags ^ y->flags;

	if (differ & BRICK_TENSOR_QUANTIZED || (any && diverge_quantised(x, y)))
		return DIVERGE_GROWTH * coarse;
	if (!differ && inherited > 0)
		differ = x->flags;
	if (x->dtype != y->dtype)
		return 4 * square(fmax(unit_of(x->dtype), unit_of(y->dtype)));
	return differ & BRICK_TENSOR_HALF ? half(brick) : 0;
}

/* |y|^2 = |x|^2 + 2 <x, y - x> + |y - x|^2 */
double diverge_along(const struct brick_digest *x, const struct brick_digest *y, double error)
{
	return x->square_sum > 0 ? fabs(y->square_sum / x->square_sum - 1 - square(error)) / 2 : 0;
}

enum diverge_shape diverge_shape(const char *brick, const struct brick_digest *x,
	const struct brick_digest *y, double error, double along)
{
	double most = 0, most_x = 0, sum = 0, sum_x = 0;

	if (brick_digest_elements(x) < BRICK_DIGEST_BUCKETS || !strcmp(brick, "AttentionScore") ||
		!strcmp(brick, "AttentionSoftmax"))
		return DIVERGE_LIKE_ROUNDING;
	for (int i = 0; i < BRICK_DIGEST_BUCKETS; i++) {
		double d = square(y->sketch[i] - x->sketch[i]), own = square(x->sketch[i]);
		most = fmax(most, d);
		most_x = fmax(most_x, own);
		sum += d;
		sum_x += own;
	}
	double share = DIRECTED + DIRECTED_AS_RESULT * most_x / sum_x;
	along = fmax(0, diverge_along(x, y, error) - along);
	return square(along) > share * square(error) ? DIVERGE_SCALED
	       : most > share * sum		     ? DIVERGE_FEW
						     : DIVERGE_LIKE_ROUNDING;
}
