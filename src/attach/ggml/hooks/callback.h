/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing nodes by the scheduler's evaluation callback, for engines whose nodes call no hook. The
 * scheduler then computes the graph node by node, so times are longer than without Brick, and
 * fusion is off. The program's own callback is kept and called as before. Any thread; each
 * scheduler by one thread at a time.
 */
#pragma once

typedef _Bool (*eval_callback_fn)(void *tensor, _Bool ask, void *data);
typedef void (*set_callback_fn)(void *scheduler, eval_callback_fn callback, void *data);

/* A scheduler was made at this address: forget a former scheduler's callback. */
void callback_scheduler_made(void *scheduler);

/*
 * The program sets its callback. In METHOD_CALLBACK ours is installed and calls the program's; else
 * the program's is. set: the engine's function for that.
 */
void callback_set(set_callback_fn set, void *scheduler, eval_callback_fn callback, void *data);

/* Around a scheduler's computing of a graph node by node. set NULL: nothing happens. */
void callback_compute_begin(set_callback_fn set, void *scheduler, const void *graph);
void callback_compute_end(void *scheduler);

/* Before a scheduler computes a graph of a plain step: the program's callback is put back. */
void callback_compute_plain(set_callback_fn set, void *scheduler);

/* The CPU computes a part of a split graph by this ggml_cplan: note the most threads of any part.
 */
void callback_part_computed(const void *plan);
