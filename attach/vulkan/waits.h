/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of what waits for the device. Any thread. */
#ifndef BRICK_ATTACH_VULKAN_WAITS_H
#define BRICK_ATTACH_VULKAN_WAITS_H

#include <vulkan/vulkan.h>

PFN_vkVoidFunction waits_hook(const char *name);

#endif
