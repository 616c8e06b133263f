/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank of how many this process is, as launchers say in the environment. Any thread. */
#pragma once

#include <stdint.h>

/* -1 in both when no launcher says. */
void brick__launcher_rank(int32_t *rank, int32_t *world);
