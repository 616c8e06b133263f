/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs there are. Any thread. */
#pragma once

#include <stdint.h>

uint32_t drain_cpus_online(void);

/* That this thread may run on, and what it starts. */
uint32_t drain_cpus_usable(void);
