/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel gives a process's number to a later process. Number and start time together belong to
 * one process for ever. Any thread.
 */
#pragma once

#include <sys/types.h>

/* The start time in clock ticks since boot; 0: no such process, or a zombie. */
unsigned long long process_start_time(pid_t pid);
