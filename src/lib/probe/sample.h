/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and ends with a record about them behind. */
#pragma once

#include "brick/probe.h"

/*
 * As brick__end_at(), and as brick_record_sample(); with a record about it behind it,
 * which is dropped when it is. about may be NULL; behind a sample there may be several of them.
 */
void brick__close_with(brick_span span, uint64_t now, const struct brick_record *about);
void brick__sample_with(
	const struct brick_sample *sample, const struct brick_record *about, uint32_t count);
