/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which command a semaphore's signal stands for, so that what waits for it is known to come after
 * that. A value of a timeline semaphore is a signal of its own; binary ones have value 0. What has
 * been overwritten, or was signalled by anybody else, is not known. Any thread.
 */
#pragma once

#include "attach/vulkan/vulkan_device.h"

/* Will be signalled when the command of that number is done. */
void semaphores_set(VkSemaphore semaphore, uint64_t value, uint64_t number);

/* 0: not known. A binary semaphore is reset by being waited for, and so is what stands here. */
uint64_t semaphores_wait(VkSemaphore semaphore, uint64_t value);

/* It goes; the next one may have the same handle. */
void semaphores_forget(VkSemaphore semaphore);
