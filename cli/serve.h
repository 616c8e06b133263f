/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `brick serve` share. Main thread. */
#ifndef BRICK_CLI_SERVE_H
#define BRICK_CLI_SERVE_H

#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

/*
 * The numbers of a run as OpenMetrics text; the caller frees. reloads, failures: of the server.
 */
char *serve_metrics(
	const struct run *run, uint64_t reloads, uint64_t failures, size_t *bytes);

/*
 * The recording that a process, or what started it, is writing: its final name, for run_load(). The
 * caller frees. NULL: none of them has one open.
 */
char *serve_find(unsigned long pid);

#endif
