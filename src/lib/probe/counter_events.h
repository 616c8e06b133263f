/* SPDX-License-Identifier: Apache-2.0 */
/* Reading counters, for the rest of the library (counters.c). */
#pragma once

#include <stdint.h>
#include "brick/counters.h"

/* As brick_counters_read(), but values->size becomes 0. Owner's thread. */
void brick__counters_read(
	const struct brick_counters *counters, struct brick_counter_values *values);

/* As brick__counters_read(), by system calls only: any thread may call it. */
void brick__counters_read_any(
	const struct brick_counters *counters, struct brick_counter_values *values);
