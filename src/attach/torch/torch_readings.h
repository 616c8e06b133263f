/* SPDX-License-Identifier: Apache-2.0 */
/* What a step used beside its thread's time. Owner thread. */
#pragma once

#include <stdbool.h>
#include "attach/torch/torch_thread.h"

/*
 * What the process used until a step begins, and the counters of what it used since then: page
 * faults, and CPU time of other threads if Python has some. Tell it before the step ends, on the
 * same thread.
 */
void torch_readings_begin(struct torch_thread *t, bool has_threads);
void torch_readings_tell(struct torch_thread *t);
