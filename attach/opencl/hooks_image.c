/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of images. Their bytes are the region's pixels times the size of one. */
#include "attach/opencl/hooks.h"

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

HOOK cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
	const size_t *origin, const size_t *region, size_t row, size_t slice, void *to,
	cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("ReadImage", BRICK_KERNEL_D2H, image_bytes(image, region));
	ENQUEUE(what, blocking,
		clEnqueueReadImage(queue, image, blocking, origin, region, row, slice, to, count,
			list, EVENT));
}

HOOK cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
	const size_t *origin, const size_t *region, size_t row, size_t slice, const void *from,
	cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("WriteImage", BRICK_KERNEL_H2D, image_bytes(image, region));
	ENQUEUE(what, blocking,
		clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice, from, count,
			list, EVENT));
}

HOOK cl_int clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to,
	const size_t *from_origin, const size_t *to_origin, const size_t *region, cl_uint count,
	const cl_event *list, cl_event *event)
{
	WHAT("CopyImage", BRICK_KERNEL_D2D, image_bytes(from, region));
	ENQUEUE(what, CL_FALSE,
		clEnqueueCopyImage(
			queue, from, to, from_origin, to_origin, region, count, list, EVENT));
}

HOOK cl_int clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
	const size_t *origin, const size_t *region, size_t offset, cl_uint count,
	const cl_event *list, cl_event *event)
{
	WHAT("CopyImageToBuffer", BRICK_KERNEL_D2D, image_bytes(from, region));
	ENQUEUE(what, CL_FALSE,
		clEnqueueCopyImageToBuffer(
			queue, from, to, origin, region, offset, count, list, EVENT));
}

HOOK cl_int clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem from, cl_mem to,
	size_t offset, const size_t *origin, const size_t *region, cl_uint count,
	const cl_event *list, cl_event *event)
{
	WHAT("CopyBufferToImage", BRICK_KERNEL_D2D, image_bytes(to, region));
	ENQUEUE(what, CL_FALSE,
		clEnqueueCopyBufferToImage(
			queue, from, to, offset, origin, region, count, list, EVENT));
}

HOOK cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *colour,
	const size_t *origin, const size_t *region, cl_uint count, const cl_event *list,
	cl_event *event)
{
	WHAT("FillImage", BRICK_KERNEL_FILL, image_bytes(image, region));
	ENQUEUE(what, CL_FALSE,
		clEnqueueFillImage(queue, image, colour, origin, region, count, list, EVENT));
}
