/* SPDX-License-Identifier: Apache-2.0 */
/* A run's samples as comma-separated values (RFC 4180, lines ended by \n). Any thread. */
#pragma once

#include <stdio.h>
#include "trace/run.h"

/*
 * A header line, then one line per sample in the order of lanes and time; begin_ns counts from the
 * run's start; what is not known is empty. 0, or -errno when out cannot be written.
 */
int trace_csv_write(const struct run *run, FILE *out);
