/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution graphs that a program wrote itself (brick_graph_save(), schema brick/graph/1), in the
 * place of a recording: what `brick graph`, `tree` and `path` say of them. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "brick/graph.h"

/* Does a file begin like one? */
bool graph_file_is(const char *path);

/* Load it, or end the program with CLI_INPUT and a message that names file, place and reason. */
struct brick_graph *graph_file_load(const char *path);

/* Prints the nesting. This and the next function end the program where edges lead in a circle. */
void graph_file_tree(struct brick_graph *graph, const char *path, FILE *out);

/* Prints the critical path, its nodes in order, and the gain of a faster node. */
void graph_file_path(struct brick_graph *graph, const char *path, FILE *out);
