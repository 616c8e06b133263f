/* SPDX-License-Identifier: Apache-2.0 */
/* What a run's steps were, once the times of its samples are known. One thread at a time. */
#pragma once

#include "trace/run.h"

/* The steps' samples are known; all else about them is found here. 0 or -ENOMEM. */
int build_steps_finish(struct run *run);
