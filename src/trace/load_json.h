/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the JSON that describes sites and kernels in recordings before version 3 (docs/FORMAT.md).
 * Returns true if the text was a site (kernel); the caller then frees the texts in it. Any thread.
 */
#pragma once

#include <stdbool.h>
#include "base/pb_read.h"
#include "trace/run.h"

/* Sets one of the site's counts, and the flag (BRICK_SITE_HAS_*) that it is known. */
static inline void load_site_count(
	struct run_site *site, uint64_t *count, uint32_t flag, uint64_t value)
{
	*count = value;
	site->flags |= flag;
}

bool load_json_site(struct pb_reader text, struct run_site *site);
bool load_json_kernel(struct pb_reader text, struct run_kernel *kernel);
