/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about streams beside their launches: which of them the program times itself, and which
 * commands theirs come after. A stream is named by its handle, the default one by its context's.
 * Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

/*
 * Streams that the program times itself, through the library inside of it: what it launches there
 * is not to be told twice.
 */
int excluded_has(cuda_handle stream);

/* The stream goes, or the context and with it all of its streams. */
void excluded_forget(cuda_handle gone);

/*
 * ---- what a command comes after in other streams ----
 * Events that one stream records and another waits for. Calls that may be the first of a stream or
 * an event name the context, too. Tables have room for so many events and streams at a time; what
 * has been overwritten is not known, and no dependency is told.
 */

enum { MAX_EVENTS_AFTER = 8 }; /* commands that one comes after */

/* The event stands for the stream's commands so far: `last`, 0: none. */
void events_recorded(cuda_handle context, cuda_handle event, cuda_handle stream, uint64_t last);

/* The next command of the stream comes after the event's commands. */
void events_waited(cuda_handle context, cuda_handle stream, cuda_handle event);

/* The call with this correlation id launched that command. */
void events_launched(cuda_handle stream, uint32_t correlation);

/* Numbers of the commands that those of the call come after; returns how many. */
uint32_t events_after(uint32_t correlation, uint64_t numbers[MAX_EVENTS_AFTER]);

/* The newest command that the event stands for; 0: not known. */
uint64_t events_number(cuda_handle event);

/* Forgets a handle; the next object may have the same one. */
void events_forget(cuda_handle event);
void events_forget_stream(cuda_handle stream);
void events_forget_context(cuda_handle context);

/*
 * The stream is being captured into a graph, and with it whatever waits for an event of it: until
 * the end of that, nothing that is recorded or waited for happens.
 */
void events_capture(cuda_handle context, cuda_handle stream);
void events_capture_end(cuda_handle stream);
