/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions that the layer stands in front of: hook_CmdDispatch() is called for vkCmdDispatch()
 * and calls the next one. Any thread.
 */
#pragma once

#include "attach/vulkan/vulkan_device.h"

#define X(name) extern __typeof__(vk##name) hook_##name;
HOOKED_FUNCTIONS(X)
#undef X

/* What stands in front of a function of devices; NULL: nothing does. */
PFN_vkVoidFunction vulkan_hook(const char *name);
