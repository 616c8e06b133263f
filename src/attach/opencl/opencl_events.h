/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the command of a program's event, and the time at which a wait for it returned. The table
 * forgets overwritten events. Any thread, no lock.
 */
#pragma once

#include <stdint.h>
#include <CL/cl.h>

/* Notes that it is the event of the command with that number. */
void events_know(cl_event event, uint64_t number);

/* Notes that it is no command's event: facts about its handle are old. */
void events_forget(cl_event event);

/* Number of its command; 0: it is not known. */
uint64_t events_number(cl_event event);

/* A wait for it returned at this time of the host; of several the first counts. */
void events_waited(cl_event event, uint64_t host_ns);

/* The time at which a wait for that command returned; 0: not known. */
uint64_t events_waited_ns(cl_event event, uint64_t number);
