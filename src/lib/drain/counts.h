/* SPDX-License-Identifier: Apache-2.0 */
/* What was emitted of a session. */
#pragma once

#include <stdint.h>

struct drain_counts {
	uint64_t records, samples, steps, dropped, threads;
	uint64_t off_cpu_lost; /* times off a CPU of threads that record */
};
