/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA's driver tells of a device, for the session's list of GPUs. One thread at a time. */
#pragma once

/* driver: of dlopen(), initialised. What it does not tell is left out. */
void cuda_device_describe(void *driver, int ordinal);
