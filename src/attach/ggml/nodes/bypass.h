/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the hot path's functions go past the hooks for a while: the dynamic linker's slots lead
 * to the functions themselves, jumps in patched objects are taken away. So the engine's code is
 * what it is without Brick. One thread at a time.
 */
#pragma once

/* Also past the hooks of phases and graphs: to be said before the first time. */
void bypass_all(void);

/* 0; -EBUSY: jumps could not be put back while other threads may run, so nothing was done. */
int bypass_begin(void);
void bypass_end(void);
