/* SPDX-License-Identifier: Apache-2.0 */
/* The half of CUPTI's double that makes activity records. */
#pragma once

#include "tests/doubles/cuda/double.h"

/* The tool breaks a rule of CUPTI's, or one that a tool needs: says so, and ends the process. */
void double_broken(const char *rule);

/* Before the first command: 0, or -1 without memory. */
int double_activity_start(void);

/* The device has been given a command. */
void double_activity(const struct command *command);

/* A context goes, and with it what of its records was complete and not delivered. */
void double_activity_context_goes(uint32_t id);

/* A graph has been made executable. */
void double_activity_exec_made(const struct graph *exec);

/* Does the device keep a time for such a command? (struct tools) */
int double_activity_is_timed(enum op_kind kind, uint64_t node, uint32_t correlation);
