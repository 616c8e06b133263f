/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and ends with records about them right behind, for launches and waits. */
#pragma once

#include "brick/probe.h"

/*
 * As brick__end_at(), and as brick_record_sample(), with records about the execution right behind
 * its record; if that is dropped, so are these. close: one record, or NULL. sample: `count`
 * records.
 */
void brick__close_with(brick_span span, uint64_t now, const struct brick_record *about);
void brick__sample_with(
	const struct brick_sample *sample, const struct brick_record *about, uint32_t count);
