/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves samples out of a run, and whatever points at them. */
#pragma once

#include <stdint.h>
#include "trace/run.h"

/*
 * keep: [lane_count], of each lane a byte for each sample, 0: leave it out; NULL: keep all of it.
 * Steps, commands, waits and tiles whose sample is left out go, too; a command stays when the call
 * that launched it goes. Samples in what is left out move up a level. -ENOMEM; the run is then as
 * before. run_edit() comes first.
 */
int run_keep(struct run *run, uint8_t *const *keep);

/* Have samples that may be written, also where they lie in a file: first of all. -errno. */
int run_edit(struct run *run);
