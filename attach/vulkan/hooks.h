/* SPDX-License-Identifier: Apache-2.0 */
/* All functions that the layer stands in front of. Any thread. */
#pragma once

#include <vulkan/vulkan.h>

/* What stands in front of a function of devices; NULL: nothing does. */
PFN_vkVoidFunction vulkan_hook(const char *name);
