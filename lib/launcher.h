/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank of how many this process is, as launchers say in the environment. Any thread. */
#ifndef BRICK_LIB_LAUNCHER_H
#define BRICK_LIB_LAUNCHER_H

#include <stdint.h>

/* -1 in both when no launcher says. */
void brick__launcher_rank(int32_t *rank, int32_t *world);

#endif
