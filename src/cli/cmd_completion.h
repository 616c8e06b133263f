/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of `brick completion`. Main thread. */
#pragma once

#include <stddef.h>

/*
 * Print the words that can stand next, one a line. arguments: a command, the option before it or
 * "", the words of the command line after the command, last what is there of the word itself.
 * Returns an exit code; what cannot be completed is no error.
 */
int completion_values(char **arguments, size_t count);
