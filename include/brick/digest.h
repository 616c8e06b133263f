/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of tensors: sums of a brick's result, so that two runs can be compared later, on another
 * machine or another backend, without keeping the numbers. A digest is linear in the values: two of
 * them give the length of the difference of two tensors, with a relative standard deviation of its
 * square of sqrt(2 / BRICK_DIGEST_BUCKETS), about 9 %.
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
	BRICK_DIGEST_BUCKETS = 256,
	BRICK_DIGEST_FNV_VALUES = 64, /* fnv64 sees that many values only */
	BRICK_DIGEST_INPUTS = 4,
};

/* Types of a result's inputs that limit how exact it can be. */
enum brick_tensor_flags {
	BRICK_TENSOR_QUANTIZED = 1, /* an input has a quantised type */
	BRICK_TENSOR_HALF = 2,	    /* an input has 16-bit floating-point values */
};

/* A tensor, as a digest is made of it. */
struct brick_tensor {
	size_t size; /* sizeof(struct brick_tensor) */
	const void *data;
	uint32_t dtype;	   /* enum brick_dtype */
	uint32_t flags;	   /* enum brick_tensor_flags */
	uint64_t ne[4];	   /* elements per dimension, innermost first; 1 for those it has not */
	uint64_t nb[4];	   /* bytes from one to the next in each dimension; all 0: without gaps */
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
 * NaN and infinite values are counted, and are 0 in everything but `nonfinite` and `fnv64`. -0.0
 * is 0.0 in everything but `fnv64`. 2160 bytes.
 */
struct brick_digest {
	uint32_t dtype;
	uint32_t flags; /* of the tensor */
	uint64_t ne[4];
	uint64_t nan_count, plus_infinite_count, minus_infinite_count;
	uint64_t nonfinite; /* sum over these of a hash of index and kind: where they are */
	double min, max;    /* 0 when no value is finite */
	double sum, square_sum;
	uint64_t fnv64; /* FNV-1a 64 over the first 64 values as little-endian f32 */
	double sketch[BRICK_DIGEST_BUCKETS]; /* CountSketch: sums of +- the values */
};

/*
 * The digest of a tensor. BRICK_EUNSUPPORTED: its type has none. BRICK_ERANGE: more than 2^48
 * elements. -EINVAL: no data, size or flags. -E2BIG: fields that are not known are set.
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
 * Estimate of |x - y| / |x|, and how far it may be off: one standard deviation, relative. 0 when
 * the digests are equal; infinite when x is 0 and y is not, or when NaN or infinite values are not
 * the same in both.
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
 * Record the digest of a brick's result, which must not change meanwhile. Its key is the step that
 * this thread is in, layer, brick and label; the time it takes is recorded as brick "Digest". Waits
 * for the consumer when it is behind, for five seconds at most; then the digest is dropped and
 * counted. -ENOENT: not wanted. BRICK_EUNSUPPORTED (counted), BRICK_ERANGE, -EINVAL: as above.
 * BRICK_EFULL: dropped.
 */
BRICK_API int brick_digest(uint32_t brick, int layer, const struct brick_tensor *tensor);

/* The same at a site (registry.h), whose brick, layer, operation and label it has. */
BRICK_API int brick_digest_site(uint32_t site, const struct brick_tensor *tensor);

BRICK_END_DECLS

#endif
