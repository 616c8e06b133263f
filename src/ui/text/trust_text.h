/* SPDX-License-Identifier: Apache-2.0 */
/* Says in words how far to trust numbers, the same in every answer. Any thread. */
#pragma once

#include "analysis/accounts/presence.h"
#include "analysis/cost/distortion.h"
#include "analysis/cost/losses.h"

enum { LOSS_BYTES = 96 }; /* of a text */

/* Beyond these, numbers do not describe the program alone. */
#define TRUST_MIN_COVERAGE 0.95
#define TRUST_MAX_DISTORTION 0.05
#define TRUST_MAX_PREEMPTED 0.02
#define TRUST_MAX_OTHERS 0.1

/* The k-th loss that is not 0: a number, and the kind ("records dropped"). False: no more. */
bool losses_describe(const struct losses *losses, size_t k, uint64_t *count, char what[LOSS_BYTES]);

/* NULL: there is nothing to say, or no memory. The caller frees. */
char *distortion_text(const struct distortion *distortion);

/* Says that threads were preempted for much of the steps' time. NULL as above; the caller frees. */
char *preempted_text(const struct presence *presence);

/* The cost of begin/end pairs, where there are any. The caller frees. */
char *pair_costs_text(const struct pair_costs *costs);
