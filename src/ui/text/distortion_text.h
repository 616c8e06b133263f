/* SPDX-License-Identifier: Apache-2.0 */
/* How a distortion was obtained, in words. Main thread. */
#pragma once

#include "analysis/cost/distortion.h"

/* NULL: there is nothing to say, or no memory. The caller frees. */
char *distortion_text(const struct distortion *distortion);

/* Of begin/end pairs that there are. The caller frees. */
char *pair_costs_text(const struct pair_costs *costs);
