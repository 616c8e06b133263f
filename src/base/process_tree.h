/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process and all that it has started, as /proc/PID/task/TID/children lists them. A process that
 * begins or ends meanwhile may be missing. Any thread.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include "base/array.h"

struct process_tree {
	ARRAY(pid_t) of; /* parents come before their children */
};

/* Fill an empty tree, with `most` processes at most. 0 or -ENOMEM; process_tree_fini() it then. */
int process_tree_read(struct process_tree *tree, pid_t root, size_t most);
void process_tree_fini(struct process_tree *tree);
