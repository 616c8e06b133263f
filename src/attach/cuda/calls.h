/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's callbacks: around the driver's calls that launch, copy, wait and load, and about modules
 * and graphs. They run on the program's threads, inside of its calls.
 */
#pragma once

#include <stdint.h>

/* For cuptiSubscribe(). */
void calls_callback(void *own, uint32_t domain, uint32_t id, const void *data);

/* Have the driver's calls reported. Returns a result of CUPTI's, CUPTI_FINE when they are. */
int calls_enable(void);

/* Also those of the runtime's interface, for versions of CUPTI that tie records to them only. */
void calls_enable_runtime(void);

/* Also have CUPTI keep records of launch calls, for versions that give no ids without them. */
void calls_enable_records(void);

/* Stops: calls after it do nothing. */
void calls_stop(void);
