/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's calls: a program's ranges become bricks (attach/annotate), and each call goes on to
 * another tool that wants it as well. With such a tool domains, strings and ranges have its
 * handles, so that calls that are not ours work for it as ever. Any thread.
 */
#pragma once

#include <stdbool.h>
#include "lib/probe/nvtx_abi.h"

/*
 * Take an object's calls: write our functions into its table. A function that is there and was not
 * `before` is another tool's, and is called from now on.
 */
void nvtx_calls_take(
	int module, nvtx_function **table, unsigned count, const nvtx_function *before);

/* Our functions for the extension of payloads. */
void nvtx_payloads_take(const struct nvtx_segment *segment);

/* The bytes that an event's payload says it is about; 0: it does not say. */
uint64_t nvtx_payload_bytes(
	const void *domain, const struct nvtx_payload *payloads, uint32_t count);
