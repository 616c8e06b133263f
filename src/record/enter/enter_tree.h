/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering a process and all that it has started, such as the workers of a server. A process that
 * cannot be entered is left out; one is enough. As enter.h in all else. One thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include "record/enter/enter.h"

struct enter_tree;

enum { ENTER_TREE_MOST = 256 }; /* processes */

/* Look at the processes. 0; or an error: no process can be entered. *out: free it in any case. */
int enter_tree_open(struct enter_tree **out, pid_t root, const struct enter_recorder *recorder);

/* As enter_descriptor(), of all. Returns how many. */
size_t enter_tree_descriptors(const struct enter_tree *tree, int fds[ENTER_TREE_MOST]);

/* 0; or an error: no process was entered. */
int enter_tree_begin(struct enter_tree *tree);

/* The state of the process that got furthest; ENTER_FAILED and ENTER_ENDED only of all of them. */
enum enter_progress enter_tree_turn(struct enter_tree *tree);

/*
 * The next process that could not be entered though it may have an engine, or that could not be
 * left as it was: a sentence that names it, valid until the tree is freed. NULL: all were told.
 */
const char *enter_tree_refusal(struct enter_tree *tree);

/*
 * As enter_end(), of all. Only enter_tree_refusal() is legal then, and enter_tree_free(). True: all
 * are as they were.
 */
bool enter_tree_end(struct enter_tree *tree);
void enter_tree_free(struct enter_tree *tree); /* NULL is legal */

/* As enter_abandoned(), of all. */
void enter_tree_abandoned(struct enter_tree *tree);
