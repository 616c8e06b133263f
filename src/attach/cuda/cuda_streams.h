/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about streams: which streams the program times itself, and which commands of other streams
 * a command comes after. A stream is known by its handle, a default stream by its context's handle.
 * Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

/*
 * Does the program time this stream itself, through its own libbrick? Then its commands are not
 * recorded here.
 */
int excluded_has(cuda_handle stream);

/* A stream is destroyed, or a context with all its streams. */
void excluded_forget(cuda_handle gone);

/*
 * ---- what a command comes after in other streams ----
 * Events that one stream records and another waits for. Calls that may be the first of a stream or
 * an event name the context, too. Tables have room for so many events and streams at a time; what
 * has been overwritten is not known, and no dependency is told.
 */

enum { MAX_EVENTS_AFTER = 8 }; /* commands that one comes after */

/* The event was recorded in the stream, after the command `last`; 0: after none. */
void events_recorded(cuda_handle context, cuda_handle event, cuda_handle stream, uint64_t last);

/* The next command of the stream comes after the event's commands. */
void events_waited(cuda_handle context, cuda_handle stream, cuda_handle event);

/* The call with this correlation id launched that command. */
void events_launched(cuda_handle stream, uint32_t correlation);

/* Get the numbers of the commands that the call's commands come after; returns how many. */
uint32_t events_after(uint32_t correlation, uint64_t numbers[MAX_EVENTS_AFTER]);

/* The newest command that the event stands for; 0: not known. */
uint64_t events_number(cuda_handle event);

/* Forgets a handle; the next object may have the same one. */
void events_forget(cuda_handle event);
void events_forget_stream(cuda_handle stream);
void events_forget_context(cuda_handle context);

/*
 * The stream is being captured into a graph, as are the streams that wait for its events. Until the
 * capture ends, events_recorded() and events_waited() on them mean nothing.
 */
void events_capture(cuda_handle context, cuda_handle stream);
void events_capture_end(cuda_handle stream);
