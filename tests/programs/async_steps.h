/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine whose evaluation call gives two kernels to a device and returns, and whose caller waits
 * for them later: five steps, of which the first is a prompt. A program that includes this
 * has device_launch(), device_wait() and device_print(). Prints a line "step BEGIN RETURNED WAITED"
 * each, in ns of CLOCK_MONOTONIC, and behind it what the device itself says of both commands.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "brick/brick.h"

enum { STEPS = 5, MS_APART = 2 };

static void device_launch(int which);
static void device_wait(void);
static void device_print(void);

static void async_steps(void)
{
	static const uint32_t bricks[] = {BRICK_RMS_NORM, BRICK_QKV_PROJECTION};

	for (int i = 0; i < STEPS; i++) {
		uint64_t begin = monotonic_ns();
		brick_span step =
			brick_step_begin(i ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, i ? 1 : 4);
		for (int k = 0; k < 2; k++) {
			brick_span span = brick_begin_layer(bricks[k], 0);
			device_launch(k);
			brick_end(span);
		}
		brick_end(step);
		uint64_t returned = monotonic_ns();
		usleep(1000 * MS_APART);
		device_wait();
		printf("step %llu %llu %llu\n", (unsigned long long)begin,
			(unsigned long long)returned, (unsigned long long)monotonic_ns());
		device_print();
	}
}
