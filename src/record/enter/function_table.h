/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library's table of functions, which its users ask one exported function for: as ONNX Runtime's
 * OrtGetApiBase(). One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read the table of a process. path: the library's file; bias: its address in memory less that in
 * the file. *at: the table's address. 0; -ENOENT: it is not found; -EPERM: the process cannot be
 * read.
 */
int function_table_find(
	pid_t pid, const char *path, uint64_t bias, uint64_t table[], size_t count, uint64_t *at);
