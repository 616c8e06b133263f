/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of records in recordings: what a piece of work did.
 */
#pragma once

#include "tests/unit/trace_scene.h"

/* A work record says what the one before it did. */
static inline struct brick_record work(uint64_t bytes, uint64_t flops)
{
	return (struct brick_record){.begin = bytes, .kind = BRICK_RECORD_WORK, .elements = flops};
}
