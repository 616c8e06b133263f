/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says of how OpenCL was attached to: library, devices, clocks, and what could not
 * be done and why. Each fact once per session. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <CL/cl.h>

/* A queue of this device was created: note library, platform and device. Its name goes to name. */
void notes_device(cl_device_id device, char *name, size_t bytes);

/* How a device's times were put on the host's clock, and how well. */
void notes_clock(cl_device_id device, int by_timer, uint32_t anchors, uint64_t residual_ns);

/* Something that could not be done. */
void notes_fault(const char *what);

/* The program uses a further OpenCL library. */
void notes_second_driver(const void *function);
