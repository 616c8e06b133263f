/* SPDX-License-Identifier: Apache-2.0 */
/* A run in formats that other programs read. 0, or -errno. Any thread. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include "trace/run.h"

/*
 * Chrome trace events, one JSON object: complete events for samples and waits, instants, counters,
 * names of processes and threads. Times in us since the run's start, with the ns behind the point.
 */
int trace_chrome_write(const struct run *run, FILE *out);

/*
 * Samples as comma-separated values (RFC 4180, lines ended by \n): a header line, then one line per
 * sample in the order of lanes and time; begin_ns counts from the run's start. A value that is not
 * known is an empty field.
 */
int trace_csv_write(const struct run *run, FILE *out);

/* Name of an enum brick_kernel_kind: "h2d"; "other" for values that are not known. */
const char *text_kernel_kind(uint32_t kind);
