/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run in the making. One thread at a time. */
#pragma once

#include "trace/build.h"

/* Everything has been said: b->run becomes a whole run, unless b->result says why not. */
void build_finish(struct build *b);
