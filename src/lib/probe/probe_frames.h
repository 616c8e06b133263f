/* SPDX-License-Identifier: Apache-2.0 */
/* Ends at times that are known. */
#pragma once

#include "brick/probe.h"

/* As brick_end() at the time `now`. */
void brick__end_at(brick_span span, uint64_t now);
