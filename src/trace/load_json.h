/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites and kernels from the JSON objects that stand for them (docs/FORMAT.md). False: the text is
 * no such object. The caller frees the texts in them. Any thread.
 */
#pragma once

#include <stdbool.h>
#include "trace/pb_read.h"
#include "trace/run.h"

bool json_read_site(struct pb_reader text, struct run_site *site);
bool json_read_kernel(struct pb_reader text, struct run_kernel *kernel);
void json_kernel_free(struct run_kernel *kernel);
