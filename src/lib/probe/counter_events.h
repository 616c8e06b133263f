/* SPDX-License-Identifier: Apache-2.0 */
/* Reading counters, for the rest of the library (counters.c). */
#pragma once

#include <stdint.h>
#include "brick/counters.h"

/* As brick_counters_read(); `size` is not set. */
void brick__counters_read(
	const struct brick_counters *counters, struct brick_counter_values *values);

/* The same by system calls, of another thread too. */
void brick__counters_read_any(
	const struct brick_counters *counters, struct brick_counter_values *values);
