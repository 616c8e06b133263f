/* SPDX-License-Identifier: Apache-2.0 */
/* The half of CUPTI's double that makes activity records. */
#ifndef DOUBLE_CUDA_ACTIVITY_H
#define DOUBLE_CUDA_ACTIVITY_H

#include "tests/doubles/cuda/double.h"

/* Before the first command: 0, or -1 without memory. */
int double_activity_start(void);

/* The device has been given a command. */
void double_activity(const struct command *command);

#endif
