/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the backend for OpenCL where its headers were missing when Brick was built. */
#include "lib/backends/absent_backend.h"
#include "brick/opencl.h"

int brick_opencl_event(void *queue, void *event)
{
	return BRICK_EUNSUPPORTED;
}

BRICK_BACKEND_ABSENT(brick__backend_opencl, "opencl", BRICK_SOURCE_DEVICE_EVENT,
	"built without the headers of OpenCL (Debian: opencl-headers)");
