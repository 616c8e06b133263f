/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of images. Their bytes are the region's pixels times the size of one. */
#include "attach/opencl/opencl_hooks.h"

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
	const struct driver *d = driver_get();
	size_t each = 0;

	if (!d || !region || !d->clGetImageInfo ||
		d->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof each, &each, NULL) !=
			CL_SUCCESS)
		return 0;
	return (uint64_t)region[0] * region[1] * region[2] * each;
}

ENQUEUES(ReadImage, BRICK_KERNEL_D2H, image_bytes(image, region), blocking,
	(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
		size_t slice, void *to),
	(image, blocking, origin, region, row, slice, to))

ENQUEUES(WriteImage, BRICK_KERNEL_H2D, image_bytes(image, region), blocking,
	(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
		size_t slice, const void *from),
	(image, blocking, origin, region, row, slice, from))

ENQUEUES(CopyImage, BRICK_KERNEL_D2D, image_bytes(from, region), CL_FALSE,
	(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
		const size_t *region),
	(from, to, from_origin, to_origin, region))

ENQUEUES(CopyImageToBuffer, BRICK_KERNEL_D2D, image_bytes(from, region), CL_FALSE,
	(cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),
	(from, to, origin, region, offset))

ENQUEUES(CopyBufferToImage, BRICK_KERNEL_D2D, image_bytes(to, region), CL_FALSE,
	(cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),
	(from, to, offset, origin, region))

ENQUEUES(FillImage, BRICK_KERNEL_FILL, image_bytes(image, region), CL_FALSE,
	(cl_mem image, const void *colour, const size_t *origin, const size_t *region),
	(image, colour, origin, region))
