/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What interned values of our own say: JSON objects, whose texts are the caller's. 0 when it is
 * none. Any thread.
 */
#pragma once

#include "trace/pb_read.h"
#include "trace/run.h"

int load_site_json(struct pb_reader text, struct run_site *site);
int load_kernel_json(struct pb_reader text, struct run_kernel *kernel);
void load_kernel_free(struct run_kernel *kernel);
