/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the whole library shares (ggml_shared.h), and what the inline clock of src/lib/sys/ticks.h
 * needs here: our own copies of what libbrick keeps to itself.
 */
#include "attach/ggml/engine/ggml_shared.h"

#include "brick/clock.h"
#include "lib/sys/ticks.h"

struct attach_shared attach_shared = {
	.resolve_generation = 1, .graph_generation = 1, .graph_serial = 1};

uint32_t brick__counter_used; /* node_ready.c sets it when a thread gets ready */

/* A hook may take a time before its thread is ready: libbrick knows the process's clock. */
uint64_t brick__monotonic_slow(void)
{
	return brick_ticks();
}
