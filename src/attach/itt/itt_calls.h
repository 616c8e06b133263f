/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT's calls, as bricks (attach/annotate). What a program makes before it finds us (domains,
 * strings, counters) lies in its own lists, what it makes later is ours; both have a place for what
 * we know of them. Any thread.
 */
#pragma once

/* Ours of that name ("__itt_task_begin"); NULL: the program's own does nothing in its place. */
void *itt_function_of(const char *name);
