/* SPDX-License-Identifier: Apache-2.0 */
/* A run as Chrome trace events, which many viewers read. Any thread. */
#pragma once

#include <stdio.h>
#include "trace/run.h"

/*
 * One JSON object: complete events for samples and waits, instants, counters, names of processes
 * and threads. Times in us since the run's start, with the ns behind the point. 0, or -errno when
 * out cannot be written or there is no memory.
 */
int trace_chrome_write(const struct run *run, FILE *out);
