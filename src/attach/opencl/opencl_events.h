/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table from the program's events to their commands, and to the time at which a wait for an event
 * returned. It is of fixed size, so a new event may overwrite an old one. Any thread, no lock.
 */
#pragma once

#include <stdint.h>
#include <CL/cl.h>

/* The event belongs to the command with this number. */
void events_know(cl_event event, uint64_t number);

/* The event belongs to no command: former facts about its handle do not hold. */
void events_forget(cl_event event);

/* The number of the event's command; 0: not known. */
uint64_t events_number(cl_event event);

/* A wait for the event returned at this host's time. The first wait counts. */
void events_waited(cl_event event, uint64_t host_ns);

/* The host's time at which a wait for the event of that command returned; 0: not known. */
uint64_t events_waited_ns(cl_event event, uint64_t number);
