/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of CUPTI's records. One thread at a time handles them (under a lock in here): that
 * thread is the "consumer" of the other files.
 */
#pragma once

#include "attach/cuda/cuda_abi.h"

/* A buffer has come back: take in its records and give it to the pool. */
void records_buffer(cuda_handle context, uint32_t stream, uint8_t *buffer, size_t valid);

/* The calling thread tells itself what CPU time it takes; of others that is told here. */
void records_thread_is_ours(void);

/* Pass on what need not wait any longer; last: all that there is, and what is missing is counted.
 */
void records_flush(int last);

/* Were there records without the correlation ids that they should have had? */
int records_lack_correlation(void);

/* What is known at the end, for the recording's notes. */
void records_describe(char *text, size_t bytes);
