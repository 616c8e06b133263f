/* SPDX-License-Identifier: Apache-2.0 */
/* Without Vulkan's headers or glslangValidator no kernels can be made. */
#include "analysis/machine/device_queue.h"

const struct device_kind device_vulkan = {.backend = "vulkan"};
