/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether the process has filtered its system calls (seccomp), and passes calls of syscall(2)
 * that start programs to functions set here. Any thread.
 */
#pragma once

#include <stdbool.h>

bool filter_guard_is_on(void);

/* Set the functions, from a constructor. They get the arguments of syscall(2). */
void filter_guard_starters(void *execve, void *execveat);
