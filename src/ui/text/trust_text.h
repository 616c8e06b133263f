/* SPDX-License-Identifier: Apache-2.0 */
/* Says in words how far to trust numbers, the same in every answer. Any thread. */
#pragma once

#include "analysis/accounts/presence.h"
#include "analysis/cost/distortion.h"
#include "analysis/cost/losses.h"

enum { LOSS_BYTES = 96 }; /* of a text */

/* Limits, as shares: beyond them, numbers do not describe the program alone. */
#define TRUST_MIN_COVERAGE 0.95	  /* of the steps' wall time */
#define TRUST_MAX_DISTORTION 0.05 /* of the steps' wall time */
#define TRUST_MAX_PREEMPTED 0.02  /* of the steps' wall time */
#define TRUST_MAX_OTHERS 0.1	  /* of the CPUs' time */

/* The k-th loss that is not 0: a number, and the kind ("records dropped"). False: no more. */
bool losses_describe(const struct losses *losses, size_t k, uint64_t *count, char what[LOSS_BYTES]);

/* How much recording cost, and how that is known. NULL: nothing to say, or no memory. The caller
 * frees. */
char *distortion_text(const struct distortion *distortion);

/* Why the distortion is not known, in a few words. NULL: it is, or nothing has been timed yet. */
const char *distortion_obstacle(const struct distortion *distortion);

/* Says that threads were preempted for much of the steps' time. NULL: they were not, or no memory.
 * The caller frees. */
char *preempted_text(const struct presence *presence);

/* The cost of begin/end pairs. NULL: there are none, or no memory. The caller frees. */
char *pair_costs_text(const struct pair_costs *costs);
