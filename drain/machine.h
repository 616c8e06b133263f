/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says of the machine and of its own cost. Any thread. */
#ifndef BRICK_DRAIN_MACHINE_H
#define BRICK_DRAIN_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Model name of the CPU; "" when the system does not tell. */
void drain_cpu_model(char *name, size_t bytes);

uint32_t drain_cpus_online(void);

/* Present times in ns. */
uint64_t drain_now_ns(void);  /* CLOCK_MONOTONIC */
uint64_t drain_unix_ns(void); /* CLOCK_REALTIME */
uint64_t drain_process_cpu_ns(void);
uint64_t drain_thread_cpu_ns(void);

#endif
