/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that the program times itself, through the library inside of it: what it launches there
 * is not to be told twice. A stream is meant by its handle, the default one by its context's. Any
 * thread.
 */
#pragma once

#include "attach/cuda/cuda_abi.h"

int excluded_has(cuda_handle stream);

/* The stream goes, or the context and with it all of its streams. */
void excluded_forget(cuda_handle gone);
