/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves samples out of a run, and whatever points at them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

/*
 * Leaves samples out and numbers the rest anew. keep[lane]: a byte for each sample of the lane, 0:
 * leave it out; NULL: keep the whole lane. What refers to a left-out sample goes, too: steps with
 * their sequence events, commands, tiles, messages, waits for such commands. A command stays when
 * the call that launched it goes. Of experts and memory, what is in no step goes, too, unless
 * `between`. Samples inside of a left-out one move up a level. Call run_edit() before. 0 or
 * -ENOMEM; the run is then as before.
 */
int run_keep(struct run *run, uint8_t *const *keep, bool between);

/*
 * Leaves out steps that never ended, and what the other threads of the process did from the begin
 * of the first of them on, if they had no step of their own since. 0 or -errno.
 */
int run_keep_whole_steps(struct run *run);

/* Makes the run's samples writable, also where they lie in a file. 0 or -errno. */
int run_edit(struct run *run);
