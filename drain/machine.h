/* SPDX-License-Identifier: Apache-2.0 */
/* The machine as a recording names it. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Model name of the CPU; "" when the system does not tell. */
void drain_cpu_model(char *name, size_t bytes);

uint32_t drain_cpus_online(void);

/* That this thread may run on, and what it starts. */
uint32_t drain_cpus_usable(void);
