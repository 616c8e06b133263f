/* SPDX-License-Identifier: Apache-2.0 */
/* Bricks of commands that were launched outside of every brick. */
#pragma once

#include <stdint.h>

/* The brick of a kernel that was launched outside of every brick; BRICK_NONE: no entry is left. */
uint32_t brick__kernel_brick(uint32_t kernel);
