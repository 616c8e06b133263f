/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the process forbidden itself system calls? And who takes calls of syscall(2) that start
 * programs. Any thread.
 */
#pragma once

#include <stdbool.h>

bool filter_guard_is_on(void);

/* From a constructor. They have the arguments of syscall(2). */
void filter_guard_starters(void *execve, void *execveat);
