/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic linker's own dlopen() and dlclose(), which Brick's hooks stand in front of. Any
 * thread.
 */
#pragma once

/* Address of the dynamic linker's dlopen(); NULL before loader_ready(). */
extern void *loader_real_dlopen;
void loader_ready(void);

void *loader_open(const char *path, int flags);
int loader_close(void *handle);
