/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of the dynamic linker through which an engine calls what its nodes are full of, and what is
 * of interest in some programs only: ggml_is_empty(), three times a node, where a device computes;
 * ggml_barrier(), where threads wait for each other. They lead to the functions themselves until
 * the first time that somebody wants to know. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

enum past_slots { PAST_EMPTY, PAST_BARRIER, PAST_COUNT };

/* Of the object there, whose calls lead to that function. */
void past_slots_lead(enum past_slots which, uintptr_t low, uintptr_t function);

/* All of them lead to the hook again, and from now on to nothing else. */
void past_slots_lead_back(enum past_slots which);

extern pthread_mutex_t past_slots_mutex; /* held over forks */
