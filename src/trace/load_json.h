/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the JSON that describes sites and kernels in recordings before version 3 (docs/FORMAT.md).
 * Returns true if the text was a site (kernel); the caller then frees the texts in it. Any thread.
 */
#pragma once

#include <stdbool.h>
#include "base/pb_read.h"
#include "trace/run.h"

bool load_json_site(struct pb_reader text, struct run_site *site);
bool load_json_kernel(struct pb_reader text, struct run_kernel *kernel);
