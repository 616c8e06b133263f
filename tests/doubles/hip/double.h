/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double of rocprofiler-sdk together with a device: what it does goes by queues, each in order,
 * and its callbacks come on a thread of its own, of each pair of dispatches the later one first.
 * FAKE_HIP is the version that it says it is (10100 by default; below 10000 records have the old
 * layout); FAKE_HIP_LOG gets a line per command: name, queue, begin and end on its clock, bytes.
 */
#pragma once

#include <stdint.h>

/* Load tools, as the runtime does when it starts; what they made is finished at exit. */
void double_hip_start(void);

void double_hip_dispatch(const char *kernel, uint64_t queue, uint32_t groups, uint64_t ns);
void double_hip_copy(uint64_t from_agent, uint64_t to_agent, uint64_t bytes, uint64_t ns);
void double_hip_synchronise(void);

/* A queue that does its work beside all others, and the wait for these, which wakes up late. */
enum { DOUBLE_HIP_OWN = 3 };
void double_hip_stream_synchronise(void);
