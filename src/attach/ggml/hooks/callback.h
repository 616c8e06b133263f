/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing nodes by the scheduler's evaluation callback, for engines without hooks. The scheduler
 * then computes the graph node by node, so times are longer than without us, and fusion is off. The
 * program's own callback is kept and asked as before. Any thread; each scheduler by one at a time.
 */
#pragma once

typedef _Bool (*eval_callback_fn)(void *tensor, _Bool ask, void *data);
typedef void (*set_callback_fn)(void *scheduler, eval_callback_fn callback, void *data);

/* A scheduler at this address is a new one. */
void callback_scheduler_made(void *scheduler);

/* The program sets its callback: ours takes its place when that is how nodes are timed. */
void callback_set(set_callback_fn set, void *scheduler, eval_callback_fn callback, void *data);

/* Before and after a scheduler computes a graph node by node. */
void callback_compute_begin(set_callback_fn set, void *scheduler, const void *graph);
void callback_compute_end(void *scheduler);

/* Before a scheduler computes a graph of a step that is left whole: with the program's callback. */
void callback_compute_plain(set_callback_fn set, void *scheduler);

/* The CPU computes a part of a graph that is split, by this plan of the engine's. */
void callback_part_computed(const void *plan);
