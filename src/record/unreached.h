/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds descendants of the program that nothing of ours is loaded into, because their parent did
 * not pass its environment on, and that no other process has reported; but for static programs
 * without ggml. The recorder looks for them in /proc; a process that ends between two looks is not
 * seen. One thread at a time.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "brick/abi/session.h"

struct unreached;

/* root: the program. directory: that of the sessions. 0 or -ENOMEM. */
int unreached_create(struct unreached **out, pid_t root, const char *directory);

/*
 * Look if it is due (every 100 ms, or less often if a look takes long). A process that is found for
 * the second time is added to the refusals, with -ENODATA.
 */
void unreached_look(struct unreached *u, struct brick_session_refusals *refusals, uint64_t now_ns);

/* NULL is legal. */
void unreached_destroy(struct unreached *u);
