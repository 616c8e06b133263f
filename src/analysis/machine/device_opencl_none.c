/* SPDX-License-Identifier: Apache-2.0 */
/* Without OpenCL's headers no kernels can be made. */
#include "analysis/machine/device_queue.h"

const struct device_kind device_opencl = {.backend = "opencl"};
