/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that were in a call of a module when modules were hooked: nothing of ours will see these
 * calls end. A thread leaves the list at its first call of a module outside of all others.
 */
#pragma once

#include <stdbool.h>

/* Look where Python's threads are, and forget the former list. With the GIL held. */
void torch_in_flight_look(void);

/* Is the calling thread in the list? With or without the GIL. */
bool torch_in_flight_here(void);

/* The calling thread is about to call a module. True: within such a call. With the GIL held. */
bool torch_in_flight_goes_on(void);

/* In the child of a fork, where such a call may never end. */
void torch_in_flight_forget(void);
