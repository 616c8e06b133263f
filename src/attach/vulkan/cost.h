/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer takes of the program's threads, for the estimate of distortion. Any thread. */
#pragma once

#include <stdint.h>

/* The layer's part of a call of the program's, since that many ticks. */
void cost_add(uint64_t begin_ticks);
