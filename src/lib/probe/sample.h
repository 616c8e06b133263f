/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and ends, followed by records about them. */
#pragma once

#include "brick/probe.h"

/*
 * As brick__end_at(), and as brick_record_sample(); followed by a record about it, which is
 * dropped with it. `about` may be NULL; a sample may have several.
 */
void brick__close_with(brick_span span, uint64_t now, const struct brick_record *about);
void brick__sample_with(
	const struct brick_sample *sample, const struct brick_record *about, uint32_t count);
