/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of execution graphs that a program wrote itself (brick_graph_save(), schema brick/graph/1).
 * `brick graph`, `tree` and `path` take such a file in place of a recording. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "brick/graph.h"

/* True if a file begins like a graph file. */
bool graph_file_is(const char *path);

/* Load a graph, or end the program with CLI_INPUT and a message of file, place and reason. */
struct brick_graph *graph_file_load(const char *path);

/* Prints the nesting. This and the next function end the program where edges lead in a circle. */
void graph_file_tree(struct brick_graph *graph, const char *path, FILE *out);

/* Prints the critical path, its nodes in order, and the gain of a faster node. */
void graph_file_path(struct brick_graph *graph, const char *path, FILE *out);
