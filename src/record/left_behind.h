/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that the program has started, that outlive it, and that have recorded nothing so far: a
 * server put into the background by a script reads its model for seconds before its first brick.
 * One thread.
 */
#pragma once

#include "record/process.h"

struct left_behind {
	struct process process; /* one of them; its pid is 0: none was found yet */
};

/* One that is alive, 0: there is none. `directory` is that of the sessions; not `but`, nor we. */
pid_t left_behind_look(struct left_behind *l, const char *directory, pid_t but);
void left_behind_fini(struct left_behind *l);
