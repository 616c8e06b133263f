/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles CUPTI's records: buffers that it fills, the queue of each stream, commands that are held
 * back until they are in order. One thread at a time handles them (under a lock in here): that
 * thread is the "consumer" of the other files.
 */
#pragma once

#include "attach/cuda/cuda_abi.h"

/* Have buffers and memory ready. 0 or -ENOMEM. */
int records_prepare(void);

/* For CUPTI: a cleared buffer, none when all are in use; and it has come back. Any thread. */
void records_request(uint8_t **buffer, size_t *bytes, size_t *most_records);
void records_complete(
	cuda_handle context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

/* A thread of ours tells its CPU time itself; that of others is told here. */
void records_thread_is_ours(void);

/* Passes on commands that need not wait any longer; last: all of them, and missing ones count. */
void records_flush(int last);

/* Were there records without the correlation ids that they should have had? */
int records_lack_correlation(void);

/* Describes the results at the end, for the recording's notes. */
void records_describe(char *text, size_t bytes);

/* Devices of which streams have been seen, a bit each; without those from 64 on. */
uint64_t records_devices(void);

/* Their clock. */

/*
 * Have CUPTI take its times from CLOCK_MONOTONIC, before it records anything. 0: it does not; then
 * its clock is placed by readings (on Linux it is CLOCK_REALTIME, which may jump).
 */
int records_clock_offer(void);
int records_clock_is_own(void);

/* Read both clocks. 0 or negative: CUPTI gave no time. */
int records_clock_sample(void);

/* How far off a time may be: the residual of readings, and the most that a command was moved. */
uint32_t records_clock_residual_ns(void);
