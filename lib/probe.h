/* SPDX-License-Identifier: Apache-2.0 */
/* Ends at times that are known. */
#ifndef BRICK_LIB_PROBE_H
#define BRICK_LIB_PROBE_H

#include "brick/probe.h"

/* As brick_end() at the time `now`. */
void brick__end_at(brick_span span, uint64_t now);

#endif
