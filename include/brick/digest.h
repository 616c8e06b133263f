/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of tensors: sums over a brick's result, so that two runs can be compared later, on
 * another machine or backend, without keeping the numbers. A digest is linear in the values. So two
 * digests give the length of the difference of their tensors; the relative standard deviation of
 * its square is sqrt(2 / BRICK_DIGEST_BUCKETS), about 9 %.
 *
 * Elements are counted in logical order (ne[0] innermost), whatever the strides are, so that a
 * transposed tensor has the digest of its contents and not of its memory. Any thread.
 */
#ifndef BRICK_DIGEST_H
#define BRICK_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Type of a tensor's elements. */
enum brick_dtype {
	BRICK_DTYPE_OTHER = 0, /* quantised and integer types: they have no digest */
	BRICK_DTYPE_F32 = 1,
	BRICK_DTYPE_F16 = 2,
	BRICK_DTYPE_BF16 = 3,
};

enum {
	BRICK_DIGEST_BUCKETS = 256,   /* of the sketch */
	BRICK_DIGEST_FNV_VALUES = 64, /* fnv64 is of the first so many values */
	BRICK_DIGEST_INPUTS = 4,      /* inputs of a result that are kept */
};

/* Types of a result's inputs that limit how exact it can be. */
enum brick_tensor_flags {
	BRICK_TENSOR_QUANTIZED = 1, /* an input has a quantised type */
	BRICK_TENSOR_HALF = 2,	    /* an input has 16-bit floating-point values */
};

/* A tensor, as a digest is made of it. */
struct brick_tensor {
	size_t size;	   /* sizeof(struct brick_tensor) */
	const void *data;  /* on the host; only read, and only during the call */
	uint32_t dtype;	   /* enum brick_dtype */
	uint32_t flags;	   /* enum brick_tensor_flags */
	uint64_t ne[4];	   /* elements per dimension, innermost first; 1: it lacks this dimension */
	uint64_t nb[4];	   /* stride in bytes of each dimension; all 0: there are no gaps */
	const char *label; /* the engine's name of the tensor, or NULL; 63 bytes are kept */

	/*
	 * Optional, to tell inherited errors from added ones: any numbers that name this result and
	 * those that it was computed from, 0: not known. An input is the last digested result of
	 * its number before this one.
	 */
	uint64_t output, inputs[BRICK_DIGEST_INPUTS];
};

#define BRICK_TENSOR_INIT BRICK_SIZED(struct brick_tensor)

/*
 * The digest of a tensor. NaN and infinite values are counted; the sums take them as 0, except for
 * `nonfinite` and `fnv64`. -0.0 counts as 0.0 except in `fnv64`. 2160 bytes; frozen.
 */
struct brick_digest {
	uint32_t dtype; /* enum brick_dtype, as the tensor's */
	uint32_t flags; /* enum brick_tensor_flags, as the tensor's */
	uint64_t ne[4]; /* as the tensor's */
	uint64_t nan_count, plus_infinite_count, minus_infinite_count;
	uint64_t
		nonfinite; /* sum of hash(index, kind) over NaN and infinite values: their places */
	double min, max;   /* 0 when no value is finite */
	double sum, square_sum;
	uint64_t fnv64; /* FNV-1a 64 over the first 64 values as little-endian f32 */
	double sketch[BRICK_DIGEST_BUCKETS]; /* CountSketch: sums of +- the values */
};

/*
 * Computes the digest of a tensor. BRICK_EUNSUPPORTED: its type has no digest. BRICK_ERANGE: more
 * than 2^48 elements. -EINVAL: no data, size or flags. -E2BIG: fields that are not known are set.
 */
BRICK_API int brick_digest_compute(struct brick_digest *out, const struct brick_tensor *tensor);

/* Number of elements; 0 for an impossible shape. */
BRICK_API uint64_t brick_digest_elements(const struct brick_digest *digest);

/*
 * Estimate of the squared length of x - y, over values that are finite in both. The digests must be
 * of the same number of elements.
 */
BRICK_API double brick_digest_distance_squared(
	const struct brick_digest *x, const struct brick_digest *y);

/*
 * Estimate of |x - y| / |x|; BRICK_DIGEST_DEVIATION is its relative standard deviation. 0: the
 * digests are equal. Infinite: x is 0 and y is not, or x and y have NaN or infinite values in
 * different places.
 */
BRICK_API double brick_digest_error(const struct brick_digest *x, const struct brick_digest *y);
#define BRICK_DIGEST_DEVIATION 0.0442 /* sqrt(2 / BRICK_DIGEST_BUCKETS) / 2 */

/* FNV-1a 64 over values as little-endian f32, the first 64 of them if more are given. */
BRICK_API uint64_t brick_digest_fnv64(const float *values, size_t count);

/* ---- recording them ---- */

/*
 * Returns 1 if results shall be digested: the process's own session records this thread, and
 * brick_digests_set() or the recorder (BRICK_CAPTURE=digest) asked for digests.
 */
BRICK_API int brick_digests_wanted(void);

/* Ask for digests (1), or for none any more (0). */
BRICK_API void brick_digests_set(int on);

/*
 * Records the digest of a brick's result, which must not change meanwhile. The digest's key is this
 * thread's step, the layer, the brick and the label. The time of the call is recorded as brick
 * "Digest". If the ring of digests is full, the call waits for the consumer, for five seconds at
 * most; then the digest is dropped and counted (BRICK_EFULL). -ENOENT: not wanted
 * (brick_digests_wanted()). Other errors as of brick_digest_compute(); BRICK_EUNSUPPORTED is
 * counted.
 */
BRICK_API int brick_digest(uint32_t brick, int layer, const struct brick_tensor *tensor);

/* As brick_digest() with brick, layer, operation and label of a site (registry.h). */
BRICK_API int brick_digest_site(uint32_t site, const struct brick_tensor *tensor);

BRICK_END_DECLS

#endif
