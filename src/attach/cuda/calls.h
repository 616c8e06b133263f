/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles CUPTI's callbacks: around the driver's calls that launch, copy, wait and load, and about
 * modules and graphs. They run on the program's threads, inside of its calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The callback for cuptiSubscribe(). */
void calls_callback(void *own, uint32_t domain, uint32_t id, const void *data);

/* Enable callbacks for the driver's calls. Returns enum cupti_result. */
int calls_enable(void);

/* Enable callbacks for the runtime's calls, too: some versions of CUPTI tie records only to these.
 */
void calls_enable_runtime(void);

/* Have CUPTI record launch calls, too: some versions give no correlation ids otherwise. */
void calls_enable_records(void);
void calls_disable_records(void);

/* Later callbacks do nothing, until calls_go_on(): a recorder enters the running process. */
void calls_stop(void);
void calls_go_on(void);

/* Was the call with this correlation id made before the recorder entered? */
bool calls_came_before(uint32_t correlation);

/* Launch no kernel of Brick's own before the program's first one (cuda_calibration.h). */
void calls_do_not_calibrate(const char *why);
