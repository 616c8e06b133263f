/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of CUPTI's records, placed on CLOCK_MONOTONIC. Consumer only. What CUPTI itself does
 * to bring the device's counter onto its clock is not in the residual: nothing shows it.
 */
#pragma once

#include <stdint.h>

/*
 * Have CUPTI take its times from CLOCK_MONOTONIC, before it records anything. 0: it does not; then
 * its clock is placed by readings (on Linux it is CLOCK_REALTIME, which may jump).
 */
int host_clock_offer(void);
int host_clock_is_own(void);

/* Read both clocks. 0 or negative: CUPTI gave no time. */
int host_clock_sample(void);

/* A record's time; 0 while there has been no reading. */
uint64_t host_clock_ns(uint64_t device_ns);

/* How far off a time may be: the readings, and what commands had to be moved by. */
uint32_t host_clock_residual_ns(void);

/* A command had to be moved by so much to begin behind its launch. Returns it. */
uint64_t host_clock_moved(uint64_t by_ns);

/* A recent time in ticks as CLOCK_MONOTONIC ns. */
uint64_t host_clock_of_ticks(uint64_t ticks);
