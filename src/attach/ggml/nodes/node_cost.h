/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks cost, measured in place and reported so that mean cost x number of calls is the
 * whole. One in about 64 hook calls is timed: the one with which `left` comes down to 0. Owner
 * thread.
 */
#pragma once

#include <stdint.h>

/* Of a thread; `left`, which every hook counts down, stands beside what hooks read. */
struct node_cost {
	uint32_t calls;	      /* made since the last one that was timed and reported */
	uint32_t whole_calls; /* of the short path, all timed, not reported yet, and their ticks */
	uint64_t whole_ticks;
	uint32_t random;
};

void node_cost_init(struct node_cost *cost, uint32_t seed);

/* How many calls until the next one that is to be timed, that one included. */
uint32_t node_cost_draw(struct node_cost *cost);

/* What the one that was timed took. */
void node_cost_timed(struct node_cost *cost, uint64_t ticks);

/* Calls that were all timed. */
void node_cost_add(struct node_cost *cost, uint32_t calls, uint64_t ticks);
