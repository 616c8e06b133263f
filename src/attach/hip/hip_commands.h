/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands from their launch until the device has done them. They are done in any order, and
 * recorded in the order of their queue's launches. Any thread.
 */
#pragma once

#include "attach/hip/hip_abi.h"

/* A command is being launched on this thread; what is given for `user` when it is done. NULL:
 * nothing is recorded. */
void *commands_dispatch(const struct hip_dispatch_data *data);
void *commands_copy(const struct hip_copy_data *data, int32_t direction);

/* The launching call is over. */
void commands_launched(void *user);

void commands_dispatched(void *user, const struct hip_dispatch_data *data);
void commands_copied(void *user, const struct hip_copy_data *data);

/* What a kernel is called. */
void commands_kernel(const struct hip_symbol_data *symbol);

/* Read the device's clock with this; before the first command. */
void commands_clock(int (*read)(uint64_t *ns));

/* What this thread asks for next is of that stream (+ 1; 0: it is not told). What it was before. */
uint64_t commands_stream(uint64_t stream);

/* The number of the newest command of that stream, or else of all; 0: there is none. */
uint64_t commands_newest(void);

/* At the end: what is still outstanding never came. */
void commands_end(void);
