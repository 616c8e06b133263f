/* SPDX-License-Identifier: Apache-2.0 */
/* Without OpenCL's headers no kernels can be made: there are no such devices. */
#include <errno.h>
#include "machine/device_queue.h"

static int open_none(struct device_queue *queue, unsigned index)
{
	(void)queue;
	(void)index;
	return -ENOTSUP;
}

static void close_none(struct device_queue *queue)
{
	(void)queue;
}

const struct device_kind device_opencl = {
	.backend = "opencl", .open = open_none, .close = close_none};
