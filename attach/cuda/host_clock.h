/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of CUPTI's records, placed on CLOCK_MONOTONIC. Consumer only. What CUPTI itself does
 * to bring the device's counter onto its clock is not in the residual: nothing shows it.
 */
#ifndef BRICK_ATTACH_CUDA_HOST_CLOCK_H
#define BRICK_ATTACH_CUDA_HOST_CLOCK_H

#include <stdint.h>

/* Read both clocks. 0 or negative: CUPTI gave no time. */
int host_clock_sample(void);

/* A record's time; 0 while there has been no reading. */
uint64_t host_clock_ns(uint64_t device_ns);

uint32_t host_clock_residual_ns(void);

/* A recent time in ticks as CLOCK_MONOTONIC ns. */
uint64_t host_clock_of_ticks(uint64_t ticks);

#endif
