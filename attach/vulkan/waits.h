/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of what waits for the device. Any thread. */
#pragma once

#include <vulkan/vulkan.h>

PFN_vkVoidFunction waits_hook(const char *name);
