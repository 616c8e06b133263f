/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descendants of the program that nothing of ours is in, since whoever started them has not handed
 * its environment on, and that nobody has told of: looked for from outside. What ends between two
 * looks is not seen. One thread at a time.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "brick/abi/session.h"

struct unreached;

/* Of the program `root`, recorded in that directory. 0 or -ENOMEM. */
int unreached_create(struct unreached **out, pid_t root, const char *directory);

/* Look again if it is due: what is found for a second time is added to the refusals. */
void unreached_look(struct unreached *u, struct brick_session_refusals *refusals, uint64_t now_ns);

void unreached_destroy(struct unreached *u);
