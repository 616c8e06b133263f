/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last command that was launched into a stream, for what waits for them. A
 * number that has been overwritten by another stream's is simply not known. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "lib/probe/waits.h"

void stream_tail_set(cuda_handle context, cuda_handle stream, uint64_t number);

/* The stream goes; the next one may have the same handle. */
void stream_tail_forget(cuda_handle context, cuda_handle stream);

/* The context goes, and all of its streams. */
void stream_tail_forget_context(cuda_handle context);

/* 0: not known. */
uint64_t stream_tail_get(cuda_handle context, cuda_handle stream);

/* Those of all streams of a context. */
void stream_tail_context(cuda_handle context, struct brick__waits *waits);
