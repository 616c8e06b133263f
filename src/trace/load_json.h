/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites and kernels of recordings before version 3 (docs/FORMAT.md). True: it was one, and the
 * caller frees its texts. Any thread.
 */
#pragma once

#include <stdbool.h>
#include "trace/pb_read.h"
#include "trace/run.h"

bool load_json_site(struct pb_reader text, struct run_site *site);
bool load_json_kernel(struct pb_reader text, struct run_kernel *kernel);
