/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles CUPTI's records: the buffers that it fills, the queue of each stream, and the commands
 * that are held back until they are in order. One thread at a time handles records, under a lock in
 * this file; other files call this thread the consumer.
 */
#pragma once

#include <stdbool.h>
#include "attach/cuda/cuda_abi.h"

/* Allocate buffers and tables, and count anew. 0 or -ENOMEM. */
int records_prepare(void);

/*
 * CUPTI's callbacks, on any thread: give it a cleared buffer (*buffer is NULL if all are in use),
 * and take a full one back.
 */
void records_request(uint8_t **buffer, size_t *bytes, size_t *most_records);
void records_complete(
	cuda_handle context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

/* The calling thread notes its CPU time itself; records_complete() notes that of other threads. */
void records_thread_is_ours(void);

/* Record commands that need not wait any longer. last: all of them, and count the missing ones. */
void records_flush(int last);

/* Commands of the recording run, or their records have not come (launches_are_awaited()). */
bool records_are_awaited(void);

/* True, once, if more than half of the first records had no correlation id of a known call. */
int records_lack_correlation(void);

/* Records that come from now on are of nobody, until records_prepare(). */
void records_stop(void);

/* Gives all memory back that CUPTI does not hold. No thread is in our code, and CUPTI calls none.
 */
void records_forget(void);

/* Describes the results at the end, for the recording's notes. */
void records_describe(char *text, size_t bytes);

/* The devices with streams so far: bit i for device i, below 64. */
uint64_t records_devices(void);

/* Their clock. */

/*
 * Have CUPTI take its times from CLOCK_MONOTONIC; call it before CUPTI records anything. 0: this
 * version cannot; its clock (on Linux CLOCK_REALTIME, which may jump) is then correlated by
 * readings.
 */
int records_clock_offer(void);
int records_clock_is_own(void);

/* Read both clocks. 0, or negative: CUPTI gave no time. */
int records_clock_sample(void);

/* The greatest error of a time: the residual of readings, and the most that a command was moved. */
uint32_t records_clock_residual_ns(void);
