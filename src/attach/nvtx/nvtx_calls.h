/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's calls: the program's ranges become bricks (attach/annotate). If another tool takes NVTX's
 * calls, too, each call goes on to it, and domains, strings and ranges have that tool's handles, so
 * that calls that are not taken here work for it unchanged. Any thread.
 */
#pragma once

#include <stdbool.h>
#include "lib/probe/nvtx_abi.h"

/*
 * Write our functions into an object's table. A function in the table that differs from `before` is
 * another tool's, and our function calls it.
 */
void nvtx_calls_take(
	int module, nvtx_function **table, unsigned count, const nvtx_function *before);

/* Our function for a slot of struct nvtx_globals; NULL: its calls are not recorded. */
nvtx_function nvtx_call_of(unsigned slot);

/* Write our functions into the segment of the extension for payloads. */
void nvtx_payloads_take(const struct nvtx_segment *segment);

/* The bytes that an event works on, by its payloads; 0: they do not tell. */
uint64_t nvtx_payload_bytes(
	const void *domain, const struct nvtx_payload *payloads, uint32_t count);
